"""Tables in Arrow's memory layout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

from ._packages import needed

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from ._native import Batch

__all__ = ["Table"]


class Table:
    """A table whose columns other libraries take over without a copy.

    Everything that reads Arrow's PyCapsule interface reads it: `pyarrow.table(t)`, `polars.DataFrame(t)`, DuckDB.

    >>> import chorus
    >>> protocols = chorus.protocols()
    >>> protocols.column_names[:2]
    ['name', 'faults']
    """

    def __init__(self, batch: Batch) -> None:
        self._own = batch

    @property
    def _batch(self) -> Batch:
        return self._own

    @property
    def column_names(self) -> list[str]:
        """The names of the columns from left to right."""
        return self._batch.names

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return len(self._batch)

    def to_arrow(self) -> pyarrow.Table:
        """The table as a `pyarrow.Table`."""
        return needed("pyarrow", "a table of Arrow").table(self)

    def to_pandas(self) -> pandas.DataFrame:
        """The table as a `pandas.DataFrame`."""
        needed("pandas", "a DataFrame")
        return self.to_arrow().to_pandas()

    def __arrow_c_schema__(self) -> object:
        return self._batch.__arrow_c_schema__()

    def __arrow_c_array__(self, requested_schema: Optional[object] = None) -> tuple[object, object]:
        return self._batch.__arrow_c_array__(requested_schema)

    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> object:
        return self._batch.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<chorus.{type(self).__name__}: {self._shape()}>"

    def _shape(self) -> str:
        return f"{self.num_rows} rows, {len(self.column_names)} columns"

    def _repr_html_(self) -> Optional[str]:
        try:
            frame: Any = self.to_pandas()
        except ImportError:
            return None
        return frame._repr_html_()
