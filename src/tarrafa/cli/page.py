"""`tarrafa page`: show one page of a crawl."""

import math
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from tarrafa.cli.common import console, folder_option, open_crawl, show_json, switch
from tarrafa.cli.page_history import show_diff, show_history
from tarrafa.errors import InputError
from tarrafa.keep import StoredPage
from tarrafa.keep.finder import Finder
from tarrafa.library.collected_page import CollectedPage, find_page
from tarrafa.library.page_versions import find_history, find_versions, read_moment
from tarrafa.texts import printable, printable_lines, quoted

EXAMPLES = [
    ("tarrafa page https://example.org/ --dir crawl", "show what is known of the page"),
    ("tarrafa page https://example.org/ --dir crawl --body > page.html", "save the page"),
    ("tarrafa page https://example.org/ --dir crawl --text", "show the text that is indexed"),
    ("tarrafa page https://example.org/ --dir crawl --markdown", "show it as Markdown, with its links"),
    ("tarrafa page https://example.org/ --dir crawl --links", "list its links"),
    ("tarrafa page https://example.org/ --dir crawl --history", "list its visits: when it changed"),
    ("tarrafa page https://example.org/ --dir crawl --at 2026-11-01 --text", "show the version of that day"),
    ("tarrafa page https://example.org/ --dir crawl --diff", "show what the last change was"),
    ("tarrafa page https://example.org/ --dir crawl --diff 2026-10 2026-11", "compare the versions of two dates"),
]


def command(
    context: typer.Context,
    url: Annotated[str, typer.Argument(metavar="URL", help="a URL or the name of a host, as for tarrafa crawl")],
    directory: Annotated[Path, folder_option("folder of the crawl")],
    dates: Annotated[
        list[str] | None, typer.Argument(metavar="DATE", help="with --diff: the versions to compare, at most two dates")
    ] = None,
    headers: Annotated[bool, switch("--headers", "print the response header")] = False,
    body: Annotated[bool, switch("--body", "print the body, decompressed")] = False,
    text: Annotated[bool, switch("--text", "print the title and the main text")] = False,
    markdown: Annotated[bool, switch("--markdown", "print the main content as Markdown, links included")] = False,
    links: Annotated[bool, switch("--links", "print the links, one per line")] = False,
    history: Annotated[bool, switch("--history", "list the visits, newest first")] = False,
    diff: Annotated[
        bool, switch("--diff", "print what changed between the last two versions, or between those of two dates")
    ] = False,
    at: Annotated[
        str | None, typer.Option("--at", metavar="DATE", help="show the version that was current at the end of DATE")
    ] = None,
    as_json: Annotated[bool, switch("--json", "print one JSON object")] = False,
) -> None:
    """Show a stored page. Works while the crawl runs, for pages that a checkpoint has saved.

    A DATE is one such as 2026-11, 2026-11-19 or 2026-11-19T14:30:00Z.
    """
    given = {"headers": headers, "body": body, "text": text, "markdown": markdown, "links": links, "json": as_json}
    wanted = [name for name, is_given in (given | {"history": history, "diff": diff}).items() if is_given]
    _check(wanted, dates or [], at)
    moment = math.inf if at is None else read_moment(at)
    folder, _ = open_crawl(context, directory)
    finder = Finder(folder)
    if history:
        show_history(url, find_history(folder, finder, url), as_json)
    elif diff:
        show_diff(find_versions(folder, finder, url, dates or []), as_json)
    else:
        page = find_page(folder, finder, url, moment)
        part = _PARTS.get(wanted[0] if wanted else "")
        part(page) if part else _show(page.stored, page.document, as_json)


def _check(wanted: list[str], dates: list[str], at: str | None) -> None:
    """Refuse options that exclude each other."""
    parts = [*_PARTS, "json"]
    if len([name for name in wanted if name in parts]) > 1:
        raise InputError(f"{', '.join(f'--{name}' for name in _PARTS)} and --json are exclusive; give one of them")
    kinds = [name for name in wanted if name != "json"]
    if len(kinds) > 1:
        raise InputError(f"--{kinds[0]} and --{kinds[-1]} are exclusive; give one of them")
    if dates and "diff" not in wanted:
        raise InputError(f"{quoted(dates[0])} is a date, which only --diff takes; give --at DATE to see an old version")
    if len(dates) > 2:
        raise InputError(f"--diff compares two versions, and {len(dates)} dates were given; give at most two")
    if at is not None and {"history", "diff"}.intersection(wanted):
        raise InputError("--at shows one version, and --history and --diff several; give the dates after --diff")


def _print_headers(page: CollectedPage) -> None:
    typer.echo(page.stored.status_line)
    for name, value in page.headers:
        typer.echo(printable(f"{name}: {value}"))


def _print_body(page: CollectedPage) -> None:
    sys.stdout.buffer.write(page.body)


def _print_text(page: CollectedPage) -> None:
    typer.echo(f"{printable(page.title)}\n\n{printable_lines(page.text)}")


def _print_markdown(page: CollectedPage) -> None:
    typer.echo(printable_lines(page.markdown))


def _print_links(page: CollectedPage) -> None:
    for link in page.links:
        typer.echo("\t".join(map(printable, (link.target, link.kind, link.rel, link.text))))


_PARTS = {
    "headers": _print_headers,
    "body": _print_body,
    "text": _print_text,
    "markdown": _print_markdown,
    "links": _print_links,
}


def _show(stored: StoredPage, document: dict[str, Any], as_json: bool) -> None:
    facts = {name: value for name, value in document.items() if name != "text"}
    facts |= {"fetched_at": document["fetched_at"].isoformat(), "address": stored.page.address}
    facts["signature"], facts["similarity"] = (f"{document[name]:016x}" for name in ("signature", "similarity"))
    for name in ("published_at", "modified_at"):
        facts[name] = document[name].isoformat() if document[name] else None
    if as_json:
        show_json({**facts, "text": document["text"], "headers": stored.page.headers})
        return
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, value in facts.items():
        if value not in (None, "", []):
            table.add_row(
                name.replace("_", " "), printable(", ".join(value) if isinstance(value, list) else str(value))
            )
    console().print(table)
