"""Finished runs: one, many, or all of a store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Iterator, Optional, Union, overload

from ._errors import InputError
from ._packages import needed
from ._tables import Table

if TYPE_CHECKING:
    import duckdb
    import pyarrow

    from ._native import Batch, Records

__all__ = ["Export", "Run", "Runs"]


class RunTables(Table):
    """Runs as tables: a row per run, per kernel, per metric or per interval."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._wide: Optional[Batch] = None

    @property
    def _batch(self) -> Batch:
        if self._wide is None:
            self._wide = self._records.runs()
        return self._wide

    def kernels(self) -> Table:
        """A row for each kernel of each run, with its cycles and its metrics."""
        return Table(self._records.kernels())

    def metrics(self) -> Table:
        """A row for each metric of each run and kernel: the long form, as `chorus export` writes it."""
        return Table(self._records.metrics())

    def series(self) -> Table:
        """A row for each interval of each counter, of runs that were made with `every`."""
        return Table(self._records.series())

    def sql(self, query: str) -> duckdb.DuckDBPyRelation:
        """The answer to a query in SQL, by DuckDB. The tables are `runs`, `kernels`, `metrics` and `series`.

        >>> import chorus
        >>> runs = chorus.sweep(system="tc", protocol=["gpu-vi", "ideal-coh"], workload="stn")
        >>> runs.sql("SELECT protocol FROM runs ORDER BY cycles").fetchall()[0]
        ('ideal-coh',)
        """
        tables = {"runs": self, "kernels": self.kernels(), "metrics": self.metrics(), "series": self.series()}
        return answer(query, tables)


def answer(query: str, tables: Mapping[str, Table]) -> duckdb.DuckDBPyRelation:
    """The answer of DuckDB to a query over tables."""
    connection = needed("duckdb", "SQL").connect()
    for name, table in tables.items():
        connection.register(name, table.to_arrow())
    return connection.sql(query)


class Run(RunTables, Mapping[str, Any]):
    """One run. As a mapping it is what `chorus run --json` prints; as a table it has one row.

    >>> import chorus
    >>> run = chorus.run(system="tc", protocol="gpu-vi", workload="stn")
    >>> run.result, run["seed"]
    ('pass', 1)
    >>> run["metrics"]["l1.loads"] > 0
    True
    """

    def __init__(self, records: Records) -> None:
        super().__init__(records)
        self._values: dict[str, Any] = records.to_dict(0)

    @property
    def cycles(self) -> Optional[int]:
        """Core cycles from the first launch to the end of the last kernel. A run that gave no result has none."""
        return self._values.get("cycles")

    @property
    def result(self) -> str:
        """`pass`, `fail` or `unchecked`, or the kind of failure of a run that gave no result."""
        return self._values["result"]

    @property
    def message(self) -> Optional[str]:
        """The reason why the result is wrong, or why there is none."""
        return self._values.get("message")

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        values = self._values
        cycles = "" if self.cycles is None else f", {self.cycles:,} cycles"
        place = f"{values['system']}, {values['scale']}, seed {values['seed']}"
        return f"<chorus.Run: {values['protocol']} on {values['workload']} ({place}): {self.result}{cycles}>"


class Runs(RunTables):
    """Runs as a table with a row for each, and as a sequence of `Run`.

    The columns are those that tell runs apart (`system`, `protocol`, `workload`, `scale`, `seed`, `set`, …), the
    outcome (`status`, `message`, `cycles`, …), `set.KEY` for every override, `parameters.KEY` of protocols,
    `sizes.KEY` of workloads, and every metric under its own name, such as `l1.load_hits`. A value that a run does not
    have is missing.

    >>> import chorus
    >>> runs = chorus.sweep(system="tc", protocol=["gpu-vi", "ideal-coh"], workload="stn")
    >>> len(runs), runs[0]["protocol"]
    (2, 'gpu-vi')
    """

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[Run]:
        return (self[number] for number in range(len(self)))

    @overload
    def __getitem__(self, index: int) -> Run: ...

    @overload
    def __getitem__(self, index: slice) -> list[Run]: ...

    def __getitem__(self, index: Union[int, slice]) -> Union[Run, list[Run]]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        number = index + len(self) if index < 0 else index
        if not 0 <= number < len(self):
            raise IndexError(f"there are {len(self)} runs, and no number {index}")
        return Run(self._records.only(number))

    def __repr__(self) -> str:
        return f"<chorus.Runs: {len(self)} runs>"


class Export(Table):
    """A Parquet file of `chorus export`: runs in the long form, with a row for each metric of each run and kernel."""

    def __init__(self, path: str) -> None:
        parquet = needed("pyarrow.parquet", "a Parquet file")
        try:
            self._arrow = parquet.read_table(path)
        except (OSError, ValueError) as error:
            raise InputError(f"cannot read {path}: {error}") from error
        if "metric" not in self._arrow.column_names:
            raise InputError(f"{path} is not an export of Chorus: it has no column `metric`")

    @property
    def column_names(self) -> list[str]:
        """The names of the columns from left to right."""
        return self._arrow.column_names

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return self._arrow.num_rows

    def to_arrow(self) -> pyarrow.Table:
        """The table as a `pyarrow.Table`."""
        return self._arrow

    def metrics(self) -> Table:
        """The table itself, which has the form of `Runs.metrics`."""
        return self

    def sql(self, query: str) -> duckdb.DuckDBPyRelation:
        """The answer to a query in SQL, by DuckDB. The table is `metrics`."""
        return answer(query, {"metrics": self})

    def __arrow_c_schema__(self) -> object:
        return self._arrow.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> object:
        return self._arrow.__arrow_c_stream__(requested_schema)
