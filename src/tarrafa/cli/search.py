"""`tarrafa search`: search the pages of a crawl."""

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from tarrafa.cli.common import console, folder_option, open_crawl, show_json, switch
from tarrafa.rank import Ranks
from tarrafa.search import TOP_MAX, Hit, Results, Search, SearchRequest
from tarrafa.texts import printable

EXAMPLES = [
    ("tarrafa search 'fishing net' --dir crawl", "pages with any of the words"),
    ("tarrafa search '+fishing +net -trap' --dir crawl", "pages with both words, without the third"),
    ("tarrafa search '\"fishing net\" site:example.org' --dir crawl", "a phrase, in one site"),
    ("tarrafa search net --dir crawl --page 2 --explain", "the second page of results, with the parts of each score"),
]


def command(
    context: typer.Context,
    query: Annotated[
        str, typer.Argument(metavar="QUERY", help="words, +required, -excluded, a quoted phrase, prefix*")
    ],
    directory: Annotated[Path, folder_option("folder of the crawl")],
    top: Annotated[int, typer.Option(metavar="K", min=1, max=TOP_MAX, help="results per page")] = 10,
    page: Annotated[int, typer.Option(metavar="P", min=1, help="page of results")] = 1,
    per_site: Annotated[
        int, typer.Option(metavar="N", min=0, help="results of a site before those of other sites; 0 for no limit")
    ] = 1,
    expand: Annotated[bool, switch("--expand", "add words that the best results have in common")] = False,
    fresh: Annotated[bool, switch("--fresh", "prefer recent pages")] = False,
    semantic: Annotated[
        bool, switch("--semantic", "prefer pages of similar meaning; needs the extra semantic")
    ] = False,
    explain: Annotated[bool, switch("--explain", "show the parts of each score")] = False,
    facets: Annotated[bool, switch("--facets", "count the results by site, language, media type and year")] = False,
    verbatim: Annotated[bool, switch("--verbatim", "search as it is spelled, also if no page has a word")] = False,
    languages: Annotated[
        list[str] | None,
        typer.Option("--lang", metavar="CODE", help="your language: of translations, show this one; repeat for others"),
    ] = None,
    as_json: Annotated[bool, switch("--json", "print one JSON object")] = False,
) -> None:
    """Search the indexed pages of a crawl. Works while the crawl and the index run.

    Put -- before a query that begins with a minus: tarrafa search --dir crawl -- '-word other'.
    """
    folder, _ = open_crawl(context, directory)
    request = SearchRequest(
        query,
        top=top,
        page=page,
        per_site=per_site,
        expand=expand,
        fresh=fresh,
        semantic=semantic,
        explain=explain,
        facets=facets,
        verbatim=verbatim,
        reader_languages=tuple(languages or ()),
    )
    results = Search.open(folder.root, Ranks.open(folder.ranks)).search(request)
    if as_json:
        show_json(_results_json(results))
    else:
        show(results, request)


def _results_json(results: Results) -> dict[str, Any]:
    facets = {name: [each.as_json() for each in counts] for name, counts in (results.facets or {}).items()}
    filters = [each._asdict() for each in results.filters]
    return {**asdict(results), "filters": filters, "facets": facets or None}


def show(results: Results, request: SearchRequest) -> None:
    """Print results for a person."""
    out = console()
    first = (request.page - 1) * request.top
    about = "about " if results.is_estimated else ""
    found = f"{about}{results.count:,} pages" if results.count != 1 else "1 page"
    out.print(Text(f"{found} in {1_000 * results.seconds:.0f} ms", "dim"))
    if results.is_corrected:
        out.print(Text(f"Results for: {printable(results.suggestion or '')}. Add --verbatim to search as typed."))
    elif results.suggestion:
        out.print(Text(f"Did you mean: {printable(results.suggestion)}"))
    for number, hit in enumerate(results.hits, first + 1):
        out.print(_shown(number, hit), soft_wrap=True)
    for name, counts in (results.facets or {}).items():
        values = ", ".join(f"{printable(each.value)} {each.documents_count:,}" for each in counts)
        out.print(Text(f"\n{name:>8}: {values}", "dim"))
    if not results.hits:
        out.print(Text("No more results." if first else "No results."))


def _shown(number: int, hit: Hit) -> Text:
    margin = "    "
    title = printable(hit.title) or printable(hit.url)
    text = Text.assemble(f"\n{number:>2}. ", (title, "bold"), "\n", margin, (printable(hit.url), "green"), "\n", margin)
    for piece, is_marked in hit.snippet:
        text.append(printable(piece), "bold yellow" if is_marked else None)
    facts = [f"visited {_day(hit.fetched_at)}"]
    facts += [f"published {_day(hit.published_at)}"] if hit.published_at is not None else []
    facts += [f"rank {hit.rank:.2f}"] if hit.rank else []
    facts += [f"duplicate: {printable(url)}" for url in hit.copies]
    facts += [f"{code}: {printable(url)}" for code, url in hit.translations]
    text.append(f"\n{margin}{' · '.join(facts)}", "dim")
    if hit.explanation:
        parts = (f"{name} {value:.3f}" for name, value in hit.explanation.items())
        text.append(f"\n{margin}{' · '.join(parts)}", "dim")
    return text


def _day(moment: int) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d")
