"""`tarrafa page`: show one page of a crawl."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from tarrafa.agent import CrawlFolder, checkpoint_of, host_in, reason_of
from tarrafa.cli.common import console, folder_option, open_crawl, show_json, switch
from tarrafa.errors import InputError, WorkError
from tarrafa.fetch import decode
from tarrafa.keep import Place, StoredPage, read_page
from tarrafa.keep.finder import Finder, find_newest_document, find_newest_links
from tarrafa.schedule import read_seed
from tarrafa.texts import printable, printable_lines
from tarrafa.urls import host_of
from tarrafa.verify import Known, look_up

EXAMPLES = [
    ("tarrafa page https://example.org/ --dir crawl", "show what is known of the page"),
    ("tarrafa page https://example.org/ --dir crawl --body > page.html", "save the page"),
    ("tarrafa page https://example.org/ --dir crawl --text", "show the text that is indexed"),
    ("tarrafa page https://example.org/ --dir crawl --links", "list its links"),
]


def command(
    context: typer.Context,
    url: Annotated[str, typer.Argument(metavar="URL", help="a URL or the name of a host, as for tarrafa crawl")],
    directory: Annotated[Path, folder_option("folder of the crawl")],
    headers: Annotated[bool, switch("--headers", "print the response header")] = False,
    body: Annotated[bool, switch("--body", "print the body, decompressed")] = False,
    text: Annotated[bool, switch("--text", "print the title and the main text")] = False,
    links: Annotated[bool, switch("--links", "print the links, one per line")] = False,
    as_json: Annotated[bool, switch("--json", "print one JSON object")] = False,
) -> None:
    """Show a stored page. Works while the crawl runs, for pages that a checkpoint has saved."""
    if headers + body + text + links + as_json > 1:
        raise InputError("--headers, --body, --text, --links and --json are exclusive; give one of them")
    folder, configuration = open_crawl(context, directory)
    stored, document = _find(folder, read_seed(url))
    page = stored.page
    if headers:
        typer.echo(stored.status_line)
        for name, value in page.headers:
            typer.echo(printable(f"{name}: {value}"))
    elif body:
        sys.stdout.buffer.write(decode(page, configuration.fetch.body_limit_bytes).body)
    elif text:
        typer.echo(f"{printable(document['title'])}\n\n{printable_lines(document['text'])}")
    elif links:
        for row in _links(folder, page.url):
            typer.echo("\t".join(printable(row[name]) for name in ("target", "kind", "rel", "text")))
    else:
        _show(stored, document, as_json)


def _find(folder: CrawlFolder, url: str) -> tuple[StoredPage, dict[str, Any]]:
    known = look_up(folder.repository, url)
    if known is not None and known.status is not None and reason_of(known.status):
        raise WorkError(f"{url} was not fetched: {reason_of(known.status)}")
    with Finder(folder).documents(checkpoint_of(folder.hosts).number) as stretches:
        document = find_newest_document(stretches, url)
    if document is None:
        raise WorkError(f"{url} {_absence(folder, known)}")
    return read_page(folder.archive, Place(document["archive_file"], document["archive_offset"])), document


def _links(folder: CrawlFolder, url: str) -> list[dict[str, Any]]:
    with Finder(folder).links(checkpoint_of(folder.hosts).number) as stretches:
        return find_newest_links(stretches, url)[1]


def _absence(folder: CrawlFolder, known: Known | None) -> str:
    if known is None:
        return "is unknown: no fetched page links to it, or it is out of scope"
    host = host_in(folder.hosts, host_of(known.url))
    text = "is known but was not visited yet"
    return f"{text}: its host is {host.status} ({host.reason})" if host and host.status else text


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
