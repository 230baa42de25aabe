"""`tarrafa serve`: serve the search page of a crawl."""

import json
import signal
from pathlib import Path
from typing import Annotated

import typer

from tarrafa import wiring
from tarrafa.cli.common import folder_option, open_crawl, switch
from tarrafa.errors import InputError
from tarrafa.memory import collect_seldom, return_large_blocks
from tarrafa.serve.i18n import LANGUAGES
from tarrafa.texts import quoted

EXAMPLES = [
    ("tarrafa serve --dir crawl", "serve at http://127.0.0.1:8080/ until Ctrl-C"),
    ("tarrafa serve --dir crawl --port 0 --json", "take any free port, and print the URL as JSON"),
    ("tarrafa serve --dir crawl --host 0.0.0.0 --lang pt", "serve the whole network, in Portuguese by default"),
    ("tarrafa serve --dir crawl --host 0.0.0.0 --server-name search.example.org", "answer for this name too"),
]


def command(
    context: typer.Context,
    directory: Annotated[Path, folder_option("folder of the crawl")],
    port: Annotated[
        int, typer.Option(metavar="PORT", min=0, max=65_535, help="port to listen on; 0 for any free port")
    ] = 8080,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="address to listen on; 0.0.0.0 for all")] = "127.0.0.1",
    names: Annotated[
        list[str] | None,
        typer.Option("--server-name", metavar="NAME", help="name under which others reach the page; may be repeated"),
    ] = None,
    lang: Annotated[str, typer.Option(metavar="LANGUAGE", help="en or pt, for browsers that accept neither")] = "en",
    rate: Annotated[
        float, typer.Option(metavar="N", min=0, help="requests per second of a client; 0 for no limit")
    ] = 20.0,
    as_json: Annotated[bool, switch("--json", "print one JSON object when the page is ready")] = False,
) -> None:
    """Serve the search page of a crawl until Ctrl-C. Works while the crawl runs."""
    if lang not in LANGUAGES:
        raise InputError(f"{quoted(lang)} is not supported; --lang takes {' or '.join(LANGUAGES)}")
    return_large_blocks()
    folder, configuration = open_crawl(context, directory)
    options = wiring.SearchPageOptions(host, port, lang, rate, names or ())
    server = wiring.search_page(configuration, folder.root, options)
    for number in (signal.SIGINT, signal.SIGTERM):
        # The normal way to stop it: exit code 0.
        signal.signal(number, lambda *_: server.stop())
    others = ", and at every address of this machine" if server.is_on_every_address else ""
    typer.echo(
        json.dumps({"url": server.url})
        if as_json
        else f"Search page of {directory} at {server.url}{others}. Press Ctrl-C to stop it."
    )
    collect_seldom()
    server.run()
