"""Simulations: one run, many runs, where the time of a run goes, and stores of finished runs."""

from __future__ import annotations

import itertools
import os
import warnings
from typing import Any, Iterable, Mapping, Optional, Union

from . import _native
from ._arguments import Set, count, override_sets, overrides, several, spec, text, whole
from ._errors import InputError, WrongResultWarning
from ._progress import Progress, watched
from ._reports import WhyReport
from ._runs import Export, Run, Runs

Texts = Union[str, Iterable[str]]
Path = Union[str, "os.PathLike[str]"]

#: The most threads of a run, as on the command line.
THREADS_MAX = 256
#: The most runs at the same time, as on the command line.
JOBS_MAX = 1024


def run(
    system: str,
    protocol: str,
    workload: str,
    *,
    set: Set = None,
    scale: str = "quick",
    seed: int = 1,
    graph: Optional[Path] = None,
    graph_format: Optional[str] = None,
    annotate: str = "hand",
    allow_incoherent: bool = False,
    threads: int = 1,
    every: Optional[int] = None,
    distributions: bool = False,
    sharing: bool = False,
    keep: Optional[Path] = None,
    progress: Progress = None,
) -> Run:
    """Simulates one workload under one protocol, and checks its result against a host reference.

    `system` and `workload` are names or paths, as on the command line. `set` overrides keys of the system, parameters
    of the protocol and sizes of the workload (`workload.KEY`). `scale` is `quick`, `medium` or `paper`. `every` notes
    the growth of all counters in intervals of so many core cycles, `distributions` the latencies of accesses, and
    `sharing` who accesses which lines. `keep` is a directory whose results store gets the run.

    A wrong result is a `WrongResultWarning`, and the run says what is wrong. A run without a result is a `RunError`.

    >>> import chorus
    >>> run = chorus.run("tc", "gpu-vi", "stn", set={"l1.size_bytes": "64KiB", "workload.steps": 16})
    >>> run.result, run["sizes"]["steps"]
    ('pass', 16)
    """
    asked = spec(system, protocol, workload, overrides(set), scale, seed, annotate)
    asked["graph"] = None if graph is None else text("graph", graph)
    asked["graph_format"] = None if graph_format is None else text("graph_format", graph_format)
    if graph is None and graph_format is not None:
        raise InputError("graph_format is given without a graph")
    choices = {
        "allow_incoherent": bool(allow_incoherent),
        "threads": _at_most("threads", threads, THREADS_MAX),
        "every": count("every", every),
        "distributions": bool(distributions),
        "sharing": bool(sharing),
        "keep": _kept(keep, allow_incoherent),
    }
    with watched(progress, f"{protocol} on {workload}", "kernels") as shown:
        records = _native.run(asked, choices, shown)
    _warn(records)
    return Run(records)


def sweep(
    system: Texts,
    protocol: Texts,
    workload: Texts,
    *,
    set: Union[Set, Iterable[Mapping[str, Any]]] = None,
    scale: Texts = "quick",
    seed: Union[int, Iterable[int]] = 1,
    annotate: Texts = "hand",
    allow_incoherent: bool = False,
    jobs: Optional[int] = None,
    keep: Optional[Path] = None,
    progress: Progress = None,
) -> Runs:
    """Makes a run for every combination of the arguments, several at the same time.

    Every argument may be one value or a list. `set` may have a list for a key, which means each of its values, or be
    a list of mappings, which means each of them. `jobs` is the number of runs at the same time; by default one for
    each core. With `keep`, the results store in that directory gets every run as soon as it is finished, and runs that
    it has already are not repeated, also after Ctrl-C.

    A run without a result has a `status` and a `message`, and the others go on.

    >>> import chorus
    >>> runs = chorus.sweep("tc", "tc-weak-fixed", "stn", set={"lease.cycles": [100, 800]})
    >>> runs.to_pandas()["parameters.lease.cycles"].tolist()
    [100, 800]
    """
    lists = [("system", system), ("protocol", protocol), ("workload", workload)]
    named = [several(name, values) for name, values in lists]
    rest = [override_sets(set), several("scale", scale), several("seed", seed), several("annotate", annotate)]
    specs = [spec(*combination) for combination in itertools.product(*named, *rest)]
    at_once = 0 if jobs is None else _at_most("jobs", jobs, JOBS_MAX)
    directory = _kept(keep, allow_incoherent)
    with watched(progress, "sweep", "runs") as shown:
        records = _native.sweep(specs, at_once, directory, bool(allow_incoherent), shown)
    _warn(records)
    return Runs(records)


def why(
    system: str,
    protocol: str,
    workload: str,
    *,
    set: Set = None,
    scale: str = "quick",
    seed: int = 1,
    slowest: int = 3,
    load: Optional[int] = None,
    line: Optional[int] = None,
    wave: Optional[tuple[int, int]] = None,
    aggregate: bool = False,
    against: Optional[str] = None,
    allow_incoherent: bool = False,
    progress: Progress = None,
) -> WhyReport:
    """Says where the time of accesses goes: what each waited for, cycle by cycle, or all of them by cause.

    The `slowest` loads are told, or the access of number `load`, those to the `line` of an address, or those of a
    `wave`, the numbers of a private cache and of a slot in it. `aggregate` adds all accesses up by cause. `against` is
    a second protocol, whose run is added up beside.

    >>> import chorus
    >>> report = chorus.why("tc", "gpu-vi", "stn", against="tc-weak")
    >>> sorted(set(report.to_pandas()["run"]))[0]
    'gpu-vi on stn (tc, quick, seed 1)'
    """
    protocols = [protocol] if against is None else [protocol, against]
    specs = [spec(system, name, workload, overrides(set), scale, seed, "hand") for name in protocols]
    is_sum = bool(aggregate) or against is not None
    accesses = {
        "slowest": _at_most("slowest", slowest, 1000),
        "load": count("load", load, least=0),
        "line": count("line", line, least=0),
        "wave": None if wave is None else _wave(wave),
        "aggregate": is_sum,
        "allow_incoherent": bool(allow_incoherent),
    }
    with watched(progress, f"why {protocol}", "kernels") as shown:
        return WhyReport(_native.why(specs, accesses, shown), is_sum)


def open_store(path: Path = "results", *, progress: Progress = None) -> Union[Runs, Export]:
    """The runs of a results store, as they are now.

    `path` is a directory that `chorus reproduce`, `chorus run --keep` or `keep` wrote to, or the store in it. A
    `.parquet` file of `chorus export` is read, too; it has the long form only.

    >>> import chorus, tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     _ = chorus.run("tc", "gpu-vi", "stn", keep=directory)
    ...     chorus.open_store(directory).sql("SELECT workload FROM runs").fetchall()
    [('stn',)]
    """
    name = text("path", path)
    if name.endswith(".parquet"):
        return Export(name)
    with watched(progress, f"store {name}", "runs") as shown:
        return Runs(_native.open_store(name, shown))


def _kept(keep: Optional[Path], allow_incoherent: bool) -> Optional[str]:
    """The directory whose store keeps runs."""
    if keep is not None and allow_incoherent:
        raise InputError("keep is given with allow_incoherent, under which runs are not those that stores keep")
    return None if keep is None else text("keep", keep)


def _at_most(name: str, value: Any, most: int) -> int:
    number = whole(name, value)
    if number > most:
        raise InputError(f"{name} is given as {value!r}; expected a whole number from 1 to {most}")
    return number


def _wave(wave: Any) -> tuple[int, int]:
    try:
        cache, slot = wave
    except (TypeError, ValueError):
        raise InputError(f"wave is given as {wave!r}; expected the numbers of a private cache and of a slot") from None
    numbers = [whole("wave", number, least=0) for number in (cache, slot)]
    if max(numbers) > 65535:
        raise InputError(f"wave is given as {wave!r}; there are no such numbers")
    return numbers[0], numbers[1]


def _warn(records: _native.Records) -> None:
    """Warns of wrong results, as the command line does on stderr."""
    for number in range(len(records)):
        trouble = records.trouble(number)
        if trouble is not None and trouble[0] == "fail":
            run = records.to_dict(number)
            where = f"{run['protocol']} on {run['workload']}"
            warnings.warn(f"wrong result: {where}: {trouble[1]}", WrongResultWarning, stacklevel=3)
