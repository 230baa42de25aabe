"""`tarrafa fetch`: fetch one page."""

import asyncio
import contextlib
import sys
from typing import Annotated, Any

import typer
from rich.table import Table

from tarrafa import wiring
from tarrafa.cli.common import configured, console, option, show_json, switch
from tarrafa.configuration import Configuration, HostTables, require_contact
from tarrafa.errors import InputError, WorkError
from tarrafa.fetch import CurlTransport, Decoded, decode
from tarrafa.records import Failure, FailureKind, Page, Request, Timings
from tarrafa.texts import printable, quoted
from tarrafa.urls import Url, host_of, parse

EXAMPLES = [
    ("tarrafa fetch https://example.org/", "show status, type, size and timings"),
    ("tarrafa fetch https://example.org/ --headers", "show the response header"),
    ("tarrafa fetch https://example.org/ --body > page.html", "save the page, decompressed"),
    ("tarrafa fetch http://127.0.0.1:8800/ --allow-private", "fetch from this machine"),
]


def command(
    context: typer.Context,
    url: Annotated[str, typer.Argument(metavar="URL", help="an http or https URL")],
    headers: Annotated[bool, switch("--headers", "print the response header")] = False,
    body: Annotated[bool, switch("--body", "print the body, decompressed")] = False,
    as_json: Annotated[bool, switch("--json", "print one JSON object")] = False,
    allow_private: Annotated[bool | None, option("crawl.allow_private")] = None,
    user_agent: Annotated[str | None, option("crawl.user_agent")] = None,
    timeout: Annotated[str | None, option("fetch.timeout")] = None,
) -> None:
    """Fetch one page and show the response. Redirects are shown, not followed."""
    if headers + body + as_json > 1:
        raise InputError("--headers, --body and --json are exclusive; give one of them")
    flags = {"crawl.allow_private": allow_private, "crawl.user_agent": user_agent, "fetch.timeout": timeout}
    configuration = configured(context, flags)
    parsed = parse_url(url)
    require_contact(configuration.crawl.user_agent, [host_of(parsed.url)], HostTables(configuration.hosts))
    page = _fetch(configuration, parsed.url, as_json)
    decoded = decode(page, configuration.fetch.body_limit_bytes)
    if headers:
        _show_headers(page)
    elif body:
        _show_body(decoded)
    elif as_json:
        show_json(_as_json(page, decoded))
    else:
        _show_page(page, decoded)


def parse_url(text: str) -> Url:
    """Return the URL that a user typed; raise InputError if it is none."""
    url = parse(text)
    if url is None:
        in_full = parse(f"https://{text}")
        hint = in_full.url if in_full else "https://example.org/"
        raise InputError(f"{quoted(text)} is not an http or https URL; write it in full, for example {hint}")
    return url


def _fetch(configuration: Configuration, url: str, as_json: bool) -> Page:
    outcome = asyncio.run(_fetched(wiring.transport(configuration), url))
    if isinstance(outcome, Page):
        return outcome
    if as_json:
        show_json({"url": outcome.url, "failure": outcome.kind, "detail": outcome.detail})
    raise WorkError(f"{outcome.url}: {outcome.kind}: {outcome.detail}{_hint(outcome)}")


async def _fetched(transport: CurlTransport, url: str) -> Page | Failure:
    with contextlib.closing(transport):  # inside the event loop
        return await transport.fetch(Request(url, any_type=True))


def _hint(failure: Failure) -> str:
    if failure.kind is FailureKind.PRIVATE:
        return "; if the host is your own, give --allow-private"
    if failure.kind is FailureKind.NAME_SERVER:
        return "; check your network, or set name_servers in [fetch] of the configuration"
    return "; give a longer --timeout" if failure.kind is FailureKind.TIMEOUT else ""


def _show_headers(page: Page) -> None:
    typer.echo(f"status: {page.status}")
    for name, value in page.headers:
        typer.echo(printable(f"{name}: {value}"))


def _show_body(decoded: Decoded) -> None:
    if decoded.unknown_coding:
        raise WorkError(f"the body is in the content coding {quoted(decoded.unknown_coding)}, which was not asked for")
    sys.stdout.buffer.write(decoded.body)
    if decoded.truncated:
        typer.echo("tarrafa: the body is truncated; raise body_limit in the configuration to get all of it", err=True)


def _show_page(page: Page, decoded: Decoded) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_row("url", page.url)
    table.add_row("status", str(page.status))
    if page.header("location"):
        table.add_row("location", printable(page.header("location") or ""))
    table.add_row("type", printable(page.media_type) or "unknown")
    table.add_row("size", _size(page, decoded))
    table.add_row("address", page.address)
    table.add_row("time", _times(page.timings))
    console().print(table)


def _size(page: Page, decoded: Decoded) -> str:
    text = f"{len(page.body):,} bytes"
    if len(decoded.body) != len(page.body):
        text += f", {len(decoded.body):,} decompressed"
    return f"{text}, truncated" if decoded.truncated else text


def _times(timings: Timings) -> str:
    steps = {name.removesuffix("_seconds").replace("_", " "): seconds for name, seconds in timings._asdict().items()}
    return ", ".join(f"{name} {seconds * 1000:.1f} ms" for name, seconds in steps.items())


def _as_json(page: Page, decoded: Decoded) -> dict[str, Any]:
    return {
        "url": page.url,
        "status": page.status,
        "type": page.media_type,
        "location": page.header("location"),
        "body_bytes": len(page.body),
        "decoded_bytes": len(decoded.body),
        "truncated": decoded.truncated,
        "address": page.address,
        "at": page.at,
        "timings": page.timings._asdict(),
        "headers": page.headers,
    }
