"""`tarrafa serve`: the search page of a crawl."""

import json
import signal
from pathlib import Path
from typing import Annotated

import typer

from tarrafa import wiring
from tarrafa.cli.frame import crawl_of, switch
from tarrafa.errors import InputError
from tarrafa.memory import collect_seldom
from tarrafa.serve.i18n import LANGUAGES
from tarrafa.texts import quoted

EXAMPLES = [
    ("tarrafa serve --dir crawl", "the search page, at http://127.0.0.1:8080/, until Ctrl-C"),
    ("tarrafa serve --dir crawl --port 0 --json", "on any free port, told as JSON"),
    ("tarrafa serve --dir crawl --host 0.0.0.0 --lang pt", "for everybody on the network, in Portuguese by default"),
]


def command(
    context: typer.Context,
    directory: Annotated[Path, typer.Option("--dir", metavar="DIR", help="the folder of the crawl")],
    port: Annotated[int, typer.Option(metavar="PORT", min=0, max=65_535, help="0 for any that is free")] = 8080,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="who may ask; 0.0.0.0 for everybody")] = "127.0.0.1",
    lang: Annotated[str, typer.Option(metavar="LANGUAGE", help="en or pt, if the browser asks for neither")] = "en",
    rate: Annotated[float, typer.Option(metavar="N", min=0, help="requests a second of a client; 0 for any")] = 20.0,
    as_json: Annotated[bool, switch("--json", "print one JSON object when it answers")] = False,
) -> None:
    """Serve the search page of a crawl until Ctrl-C. Works while the crawl runs."""
    if lang not in LANGUAGES:
        raise InputError(f"{quoted(lang)} is not spoken here; --lang takes {' or '.join(LANGUAGES)}")
    folder, _ = crawl_of(context, directory)
    server = wiring.search_page(folder.root, host, port, lang, rate)
    for number in (signal.SIGINT, signal.SIGTERM):
        # The usual end, and no error.
        signal.signal(number, lambda *_: server.stop())
    typer.echo(json.dumps({"url": server.url}) if as_json else f"search {directory} at {server.url}; Ctrl-C ends it")
    collect_seldom()
    server.run()
