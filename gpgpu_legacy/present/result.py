"""The result of a verb or a study: one record that is shown, written and read."""

from __future__ import annotations

from typing import Any

from gpgpu_legacy.present.grid import Grid
from gpgpu_legacy.serial import Record, Recorded, json_text, plain


class Shown:
    """A record that has tables. JSON, HTML for notebooks and the command line come from them."""

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """The tables. whole: all of them; otherwise the short answer."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {' '.join(grid.caption for grid in self.grids()[:1])}>"

    def as_dict(self) -> dict[str, Any]:
        """The record as dicts, lists, numbers and strings; NaN and the infinities are None."""
        fields: dict[str, Any] = plain(self)
        return fields

    def as_json(self) -> str:
        """The record as JSON; NaN and the infinities are null."""
        return json_text(self)

    def _repr_html_(self) -> str:
        """The tables, for a notebook."""
        from gpgpu_legacy.present.html import grids_html

        return grids_html(self.grids())


class Result(Shown, Record):
    """A result of a verb or a study: a record with tables."""


class RecordedResult(Shown, Recorded, kw_only=True):
    """A result that is kept in a file, with who wrote it, with what, and when."""
