"""`tarrafa page`: show one page of a crawl."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from tarrafa.cli.common import console, folder_option, open_crawl, show_json, switch
from tarrafa.errors import InputError
from tarrafa.keep import StoredPage
from tarrafa.keep.finder import Finder
from tarrafa.library.collected_page import CollectedPage, find_page
from tarrafa.texts import printable, printable_lines

EXAMPLES = [
    ("tarrafa page https://example.org/ --dir crawl", "show what is known of the page"),
    ("tarrafa page https://example.org/ --dir crawl --body > page.html", "save the page"),
    ("tarrafa page https://example.org/ --dir crawl --text", "show the text that is indexed"),
    ("tarrafa page https://example.org/ --dir crawl --markdown", "show it as Markdown, with its links"),
    ("tarrafa page https://example.org/ --dir crawl --links", "list its links"),
]


def command(
    context: typer.Context,
    url: Annotated[str, typer.Argument(metavar="URL", help="a URL or the name of a host, as for tarrafa crawl")],
    directory: Annotated[Path, folder_option("folder of the crawl")],
    headers: Annotated[bool, switch("--headers", "print the response header")] = False,
    body: Annotated[bool, switch("--body", "print the body, decompressed")] = False,
    text: Annotated[bool, switch("--text", "print the title and the main text")] = False,
    markdown: Annotated[bool, switch("--markdown", "print the main content as Markdown, links included")] = False,
    links: Annotated[bool, switch("--links", "print the links, one per line")] = False,
    as_json: Annotated[bool, switch("--json", "print one JSON object")] = False,
) -> None:
    """Show a stored page. Works while the crawl runs, for pages that a checkpoint has saved."""
    given = {"headers": headers, "body": body, "text": text, "markdown": markdown, "links": links, "json": as_json}
    chosen = [name for name, is_given in given.items() if is_given]
    if len(chosen) > 1:
        *names, last = given
        raise InputError(f"{', '.join(f'--{name}' for name in names)} and --{last} are exclusive; give one of them")
    folder, _ = open_crawl(context, directory)
    page = find_page(folder, Finder(folder), url)
    if chosen and not as_json:
        _PARTS[chosen[0]](page)
    else:
        _show(page.stored, page.document, as_json)


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
