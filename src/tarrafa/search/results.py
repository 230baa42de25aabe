"""What a search takes and returns: small frozen records, and a hit made from documents with the same content."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from tarrafa.errors import InputError
from tarrafa.search.facets import Facets
from tarrafa.search.fields import StoredDocument
from tarrafa.search.query import Filter
from tarrafa.search.scores import CANDIDATES_LIMIT, Scores
from tarrafa.search.snippets import Highlighter, Piece, snippet
from tarrafa.search.translations import names_other_language

TOP_MAX = 100
_LANGUAGE_TAG = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{1,8})*", re.ASCII)
# What paths of copies have and those of originals mostly lack.
_COPY_MARK = re.compile(
    r"(?<![a-z])(?:copy|copies|old|backup|bak|mirror|archived?|print|printable|amp|tmp|temp|draft)(?![a-z])"
    r"|(?<![0-9])[0-9]+(?:\.[0-9]+)+",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """`after` and `before` are dates as in a query: `2024`, `2024-05`, `2024-05-17`."""

    text: str
    top: int = 10
    page: int = 1
    per_site: int = 1  # results of one site in each round of sites; 0 for any number
    expand: bool = False
    fresh: bool = False
    semantic: bool = False
    site: str | None = None
    language: str | None = None
    after: str | None = None
    before: str | None = None
    explain: bool = False
    facets: bool = False  # count the results by site, language, media type and year
    verbatim: bool = False  # search as it is spelled, also if no document has a word
    # Codes such as pt, best first: of translations, the first one that there is is shown. It filters nothing.
    reader_languages: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 1 <= self.top <= TOP_MAX:
            raise InputError(f"a page holds 1 to {TOP_MAX} results, not {self.top}")
        if self.page < 1 or (self.page - 1) * self.top >= CANDIDATES_LIMIT:
            raise InputError(
                f"page {self.page} is out of range: only the best {CANDIDATES_LIMIT:,} results are shown; "
                f"ask for page 1 to {-(-CANDIDATES_LIMIT // self.top)}, or narrow the query"
            )
        for tag in self.reader_languages:
            if not _LANGUAGE_TAG.fullmatch(tag):
                raise InputError(f"a language is a code such as en, pt or pt-BR, not {tag[:40]!a}")
        if self.per_site < 0:
            raise InputError(f"results per site must be 1 or more, or 0 for any number, not {self.per_site}")


@dataclass(frozen=True, slots=True)
class Hit:
    """One result. Times are in seconds since the Unix epoch. `copies` are URLs with the same content."""

    url: str
    title: str
    snippet: list[Piece]
    site: str
    host: str
    language: str
    fetched_at: int
    published_at: int | None
    score: float
    rank: float  # 0 if it is unknown
    copies: tuple[str, ...] = ()
    translations: tuple[tuple[str, str], ...] = ()  # language and URL of each
    explanation: dict[str, float] = field(default_factory=dict)  # parts of the score, if the request asks for them


@dataclass(frozen=True, slots=True)
class Results:
    """One page of results.

    `count` is how many documents match, copies included; an estimate if the search was pruned.
    """

    hits: tuple[Hit, ...]
    count: int
    seconds: float
    page: int
    suggestion: str | None = None  # the query with its spelling corrected
    facets: Facets | None = None  # if the request asks for them
    is_corrected: bool = False  # True if the hits are those of the suggestion
    filters: tuple[Filter, ...] = ()  # those of the query and of the request
    is_estimated: bool = False


def make_hit(
    copies: list[StoredDocument],
    links: Sequence[int],
    highlighter: Highlighter,
    scores: Scores,
    place: int,
    is_explained: bool,
) -> Hit:
    """Make one hit of documents with the same content, each with the count of links to it.

    `place` is that of the best one in `scores`.
    """
    shown = choose_copy(copies, links)
    return Hit(
        url=shown.url,
        title=shown.title,
        snippet=_make_snippet(shown, highlighter),
        site=shown.site,
        host=shown.host,
        language=shown.language,
        fetched_at=shown.fetched_at,
        published_at=shown.published_at,
        score=float(scores.total[place]),
        rank=float(scores.rank[place]),
        copies=tuple(sorted(each.url for each in copies if each is not shown)),
        explanation=_explain(scores, place) if is_explained else {},
    )


def choose_copy(copies: list[StoredDocument], links: Sequence[int]) -> StoredDocument:
    """Return the copy that most name canonical, else the one most linked to, else the one that looks like an original.

    Of equals, the one with the shortest URL. Sites show a page that is not translated at the addresses of all
    translations, which link to each other alike: there, links say nothing, and the original names its own language.
    """
    votes = Counter(each.canonical for each in copies)

    def key(place: int) -> tuple[int, bool, int, int, int, str]:
        url = copies[place].url
        is_elsewhere = names_other_language(url, copies[place].language)
        return -votes[url], is_elsewhere, -links[place], _copy_marks(url), len(url), url

    return copies[min(range(len(copies)), key=key)]


def _copy_marks(url: str) -> int:
    """Count what copies have in their addresses: words such as print or backup, version numbers, a query."""
    parts = urlsplit(url)
    return len(_COPY_MARK.findall(f"{parts.path}?{parts.query}")) + bool(parts.query)


def _make_snippet(shown: StoredDocument, highlighter: Highlighter) -> list[Piece]:
    """Take the snippet from the text, or from the description if the text does not match."""
    pieces = snippet(shown.text, highlighter.matches(shown.text, shown.language))
    if shown.description and not any(is_marked for _, is_marked in pieces):
        return snippet(shown.description, highlighter.matches(shown.description, shown.language))
    return pieces


def _explain(scores: Scores, place: int) -> dict[str, float]:
    return {name: float(values[place]) for name, values in zip(scores._fields, scores, strict=True)}
