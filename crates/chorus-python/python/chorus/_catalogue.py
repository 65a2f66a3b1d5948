"""Everything that has a name."""

from __future__ import annotations

from typing import Any

from . import _native
from ._tables import Table

KINDS = ("systems", "protocols", "workloads", "experiments")


def systems() -> Table:
    """The machines that protocols run on.

    >>> import chorus
    >>> chorus.systems().to_pandas()["name"].tolist()[:2]
    ['tc', 'hmg']
    """
    return _table("systems")


def protocols() -> Table:
    """The cache coherence protocols, with their parameters and seeded faults."""
    return _table("protocols")


def workloads() -> Table:
    """The programs that run on a machine, with their sizes."""
    return _table("workloads")


def experiments() -> Table:
    """The papers and other experiments that `chorus reproduce` makes."""
    return _table("experiments")


def list() -> dict[str, Any]:
    """Everything that has a name, as `chorus list --json` prints it.

    >>> import chorus
    >>> sorted(chorus.list())
    ['experiments', 'protocols', 'systems', 'workloads']
    """
    return {kind: _native.catalogue(kind).to_dict()[kind] for kind in KINDS}


def _table(kind: str) -> Table:
    return Table(_native.catalogue(kind).table(kind))
