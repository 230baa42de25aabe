"""How `tarrafa page` shows the history of a page, and what changed between two versions."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import typer
from rich.table import Table

from tarrafa.cli.common import console, show_json
from tarrafa.collection.history import PastVisit
from tarrafa.dates import format_moment
from tarrafa.library.collected_page import CollectedPage
from tarrafa.library.page_versions import HISTORY_VISITS, diff_lines
from tarrafa.texts import printable
from tarrafa.units import rough_size

_COLUMNS = ("when", "outcome", "status", "content", "size", "signature", "place")


def show_history(url: str, visits: Sequence[PastVisit], as_json: bool) -> None:
    """Show the visits of a page, newest first."""
    if as_json:
        show_json({"url": url, "visits": [_visit_json(visit) for visit in visits]})
        return
    table = Table(box=None, pad_edge=False)
    for name in _COLUMNS:
        table.add_column(name, justify="right" if name in ("status", "size") else "left", no_wrap=True)
    for visit in visits:
        place = f"{visit.place.file}:{visit.place.offset}" if visit.place else ""
        signature = f"{visit.signature:016x}" if visit.signature else ""
        when, size = format_moment(visit.at), rough_size(visit.size_bytes)
        table.add_row(when, printable(visit.outcome), f"{visit.status}", _content(visit), size, signature, place)
    console().print(table)
    versions_count = sum(visit.is_version for visit in visits)
    older = "; older visits are not shown" if len(visits) == HISTORY_VISITS else ""
    typer.echo(f"{_counted(len(visits), 'visit')}, {_counted(versions_count, 'version')}{older}.")


def _counted(count: int, name: str) -> str:
    return f"{count:,} {name}{'' if count == 1 else 's'}"


def _content(visit: PastVisit) -> str:
    """Say in words what the visit found."""
    if not visit.has_content:
        return ""
    said = "first" if visit.is_changed is None else "changed" if visit.is_changed else "unchanged"
    if visit.is_version and not visit.has_copy:
        return f"{said}, no longer stored"
    return f"{said}, current" if visit.is_current else said


def _visit_json(visit: PastVisit) -> dict[str, Any]:
    return {
        "fetched_at": datetime.fromtimestamp(visit.at, UTC).isoformat(),
        "outcome": visit.outcome,
        "status": visit.status,
        "size_bytes": visit.size_bytes,
        "is_changed": visit.is_changed,
        "is_version": visit.is_version,
        "is_current": visit.is_current,
        "is_stored": visit.place is not None,
        "signature": f"{visit.signature:016x}",
        "archive_file": visit.place.file if visit.place else None,
        "archive_offset": visit.place.offset if visit.place else None,
    }


def show_diff(versions: Sequence[CollectedPage], as_json: bool) -> None:
    """Show what changed from the older version of a page to the newer."""
    old, new = versions
    lines = [printable(line) for line in diff_lines(old, new)]
    if as_json:
        show_json({"url": new.url, "old": _version_json(old), "new": _version_json(new), "diff": lines})
        return
    if not lines:
        moments = " and ".join(format_moment(page.fetched_at.timestamp()) for page in versions)
        typer.echo(f"The text is the same on {moments}.")
    for line in lines:
        typer.echo(line)


def _version_json(page: CollectedPage) -> dict[str, Any]:
    row = page.document
    return {"fetched_at": row["fetched_at"].isoformat(), "title": page.title, "signature": f"{row['signature']:016x}"}
