"""Checks, litmus tests and transition tables of protocols."""

from __future__ import annotations

from typing import Iterable, Optional, Union

from . import _native
from ._arguments import choice, count, texts
from ._errors import InputError
from ._progress import Progress, watched
from ._reports import CheckReport, LitmusReport, TransitionTable


def check(
    protocol: str,
    *,
    smoke: bool = False,
    full: bool = False,
    config: Optional[str] = None,
    machine: Optional[str] = None,
    fault: Optional[str] = None,
    states: Optional[int] = None,
    memory: Optional[int] = None,
    threads: Optional[int] = None,
    fingerprints: bool = False,
    progress: Progress = None,
) -> CheckReport:
    """Explores a protocol on tiny machines, in every order of issue, delivery and eviction.

    `smoke` explores only the smallest configurations, and `full` larger machines, too. `config` names one
    configuration, and `machine` describes one, as in `caches=3,lines=1,operations=2`. `fault` builds one of the
    protocol's seeded faults in, which the check must find. A search visits at most `states` states in `memory` MiB.

    >>> import chorus
    >>> chorus.check("gpu-vi", smoke=True)
    <chorus.CheckReport: gpu-vi passed, 4 configurations>
    """
    parts = {"smoke": smoke, "full": full, "config": config, "machine": machine}
    given = [name for name, value in parts.items() if value not in (False, None)]
    if len(given) > 1:
        raise InputError(f"{' and '.join(given)} exclude each other; give one of them")
    name = given[0] if given else "usual"
    part = (name, str(parts.get(name, "")))
    with watched(progress, f"check {protocol}", "configurations") as shown:
        search = _search(states, memory, threads, fingerprints)
        return CheckReport(_native.check(protocol, fault, part, search, shown))


def litmus(
    protocol: str,
    tests: Union[None, str, Iterable[str]] = None,
    *,
    fault: Optional[str] = None,
    core: str = "posted",
    states: Optional[int] = None,
    memory: Optional[int] = None,
    threads: Optional[int] = None,
    fingerprints: bool = False,
    progress: Progress = None,
) -> LitmusReport:
    """Runs litmus tests on a protocol in every order, and compares the outcomes with its memory model.

    `tests` are names, files or folders. Without them, all tests that apply to the protocol are run. `core` is
    `posted`, or `blocking` for cores that wait for their stores.

    >>> import chorus
    >>> chorus.litmus("tc-weak", ["MP", "MP+fences"]).to_pandas()["verdict"].tolist()
    ['pass', 'pass']
    """
    is_blocking = choice("core", core, ("posted", "blocking")) == "blocking"
    named = [] if tests is None else texts("tests", tests)
    with watched(progress, f"litmus {protocol}", "tests") as shown:
        search = _search(states, memory, threads, fingerprints)
        return LitmusReport(_native.litmus(protocol, named, fault, is_blocking, search, shown))


def table(protocol: str, *, progress: Progress = None) -> TransitionTable:
    """The transition table of a protocol, extracted from its running controllers.

    >>> import chorus
    >>> print(chorus.table("gpu-vi").to_text().splitlines()[0])
    # GPU-VI
    """
    with watched(progress, f"table {protocol}", "steps") as shown:
        return TransitionTable(_native.table(protocol, shown))


def _search(
    states: Optional[int], memory: Optional[int], threads: Optional[int], fingerprints: bool
) -> dict[str, object]:
    return {
        "states": count("states", states),
        "memory": count("memory", memory),
        "threads": count("threads", threads),
        "fingerprints": bool(fingerprints),
    }
