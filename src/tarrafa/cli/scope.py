"""`tarrafa scope`: which URLs a crawl would visit, and by which rule."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from tarrafa import wiring
from tarrafa.agent import CrawlFolder
from tarrafa.cli.common import configured, console, folder_option, option, show_json, switch
from tarrafa.cli.rule_flags import Exclude, Include, given_rules
from tarrafa.configuration import Configuration
from tarrafa.schedule import Refusal, Scope, ScopeVerdict, distance_of, read_seed
from tarrafa.schedule.scope_rules import CompiledRule

EXAMPLES = [
    ("tarrafa scope check https://example.org/print/7 --dir crawl", "tell whether a crawl would visit a URL, and why"),
    (
        "tarrafa scope check example.org --scope br --include site:example.org",
        "try rules before a crawl, without a folder",
    ),
]


def check(
    context: typer.Context,
    urls: Annotated[list[str], typer.Argument(metavar="URL…", help="URLs or host names")],
    directory: Annotated[Path | None, folder_option("folder of a crawl, for its seeds and settings")] = None,
    scope: Annotated[str | None, option("crawl.scope")] = None,
    include: Include = None,
    exclude: Exclude = None,
    depth: Annotated[int, typer.Option(metavar="N", min=0, help="links between a seed and the URL")] = 0,
    as_json: Annotated[bool, switch("--json", "print one JSON object")] = False,
) -> None:
    """Tell whether a crawl would visit each URL, and which rule decides. No request is made."""
    folder = None if directory is None else CrawlFolder(directory)
    if folder is not None:
        folder.require()
    rules = given_rules(context, include, exclude)
    configuration = configured(context, {"crawl.scope": scope}, folder, rules)
    seeds = () if folder is None else folder.known_seeds().urls
    wiring.check(configuration, seeds)
    found = wiring.scope(configuration, seeds)
    rows = [_row(found, configuration, read_seed(url), depth) for url in urls]
    if as_json:
        show_json({"urls": rows})
    else:
        _show(rows)


COMMANDS = {"check": check}


def _row(scope: Scope, configuration: Configuration, url: str, depth: int) -> dict[str, Any]:
    told = scope.explain(url, distance_of(depth))
    if isinstance(told, Refusal):
        text = "no contact in the user agent" if told is Refusal.OUTSIDE else told.value
        return {"url": url, "is_in": False, "rule": text, "origin": _origin(configuration, told), "open": []}
    text, origin = _decider(told, configuration)
    return {"url": url, "is_in": told.is_in, "rule": text, "origin": origin, "open": _open(told)}


def _decider(told: ScopeVerdict, configuration: Configuration) -> tuple[str, str]:
    """Return what decides about a URL, and where it was written."""
    if told.rule is not None:
        return _text(told.rule), told.rule.rule.origin
    if any(each.rule.is_included for each in told.open_rules):
        return "", ""  # one of the open rules would have to let it in
    section = configuration.crawl
    hops = section.hops_outside if not told.is_in else 0
    reach = f", but within reach of {hops} links" if hops > 1 else ", but within reach of a link" if hops else ""
    return f"scope {section.scope}{reach}", configuration.origins.get("crawl.scope", "default")


def _origin(configuration: Configuration, refusal: Refusal) -> str:
    return configuration.origins.get(_KEYS.get(refusal, ""), "default")


_KEYS = {
    Refusal.LENGTH: "crawl.url_chars",
    Refusal.DEPTH: "crawl.depth",
    Refusal.REPETITION: "crawl.repeated_segments",
    Refusal.OUTSIDE: "crawl.user_agent",  # without a contact public hosts are outside, whatever the rules say
}


def _text(rule: CompiledRule) -> str:
    return f"{rule.rule.verdict} {rule.rule.text}"


def _open(told: ScopeVerdict) -> list[dict[str, str]]:
    return [{"rule": _text(each), "origin": each.rule.origin} for each in told.open_rules]


def _show(rows: list[dict[str, Any]]) -> None:
    table = Table("", "URL", "decided by", "origin", box=None, pad_edge=False)
    for row in rows:
        table.add_row("in" if row["is_in"] else "out", row["url"], row["rule"], row["origin"])
        for each in row["open"]:
            word = "if" if each["rule"].startswith("include") else "unless"
            table.add_row("", "", f"{word} {each['rule']} by address or page", each["origin"])
    console().print(table)
