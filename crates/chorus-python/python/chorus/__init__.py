"""Chorus: a laboratory for GPU cache coherence.

Pick a machine, a protocol and a workload; get cycles, traffic, energy and a verified result.

>>> import chorus
>>> run = chorus.run(system="tc", protocol="gpu-vi", workload="stn")
>>> run.result
'pass'

Results are tables that pandas, pyarrow, polars and DuckDB take over without a copy, and mappings with everything that
the command line prints as JSON. Values are those of the command line: both are the same program inside. `systems()`,
`protocols()` and `workloads()` say what there is.
"""

from __future__ import annotations

from . import _native
from ._catalogue import experiments, list, protocols, systems, workloads
from ._checks import check, litmus, table
from ._errors import ChorusError, DefectError, InputError, MissingPackageError, RunError, WrongResultWarning
from ._reports import CheckReport, LitmusReport, TransitionTable, WhyReport
from ._runs import Export, Run, Runs
from ._simulations import open_store, run, sweep, why
from ._tables import Table

#: The version of Chorus, and the git revision of the sources that it was built from.
__version__, __revision__ = _native.build()

__all__ = [
    "CheckReport",
    "ChorusError",
    "DefectError",
    "Export",
    "InputError",
    "LitmusReport",
    "MissingPackageError",
    "Run",
    "RunError",
    "Runs",
    "Table",
    "TransitionTable",
    "WhyReport",
    "WrongResultWarning",
    "check",
    "experiments",
    "list",
    "litmus",
    "open_store",
    "protocols",
    "run",
    "sweep",
    "systems",
    "table",
    "why",
    "workloads",
]
