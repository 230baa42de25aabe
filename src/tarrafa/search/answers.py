"""What is asked and what is answered: small frozen records."""

from dataclasses import dataclass, field

from tarrafa.errors import InputError
from tarrafa.search.query import Filter
from tarrafa.search.ranking import CANDIDATES_LIMIT
from tarrafa.search.snippets import Piece

TOP_MAX = 100


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """`after` and `before` are dates as in a question: `2024`, `2024-05`, `2024-05-17`."""

    text: str
    top: int = 10
    page: int = 1
    per_site: int = 1  # results of one site before others had their turn; 0 for any number
    expand: bool = False
    fresh: bool = False
    semantic: bool = False
    site: str | None = None
    language: str | None = None
    after: str | None = None
    before: str | None = None
    explain: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.top <= TOP_MAX:
            raise InputError(f"a page holds 1 to {TOP_MAX} results, not {self.top}")
        if self.page < 1 or (self.page - 1) * self.top >= CANDIDATES_LIMIT:
            raise InputError(
                f"page {self.page} is out of reach: the best {CANDIDATES_LIMIT:,} results are shown; "
                f"ask for page 1 to {-(-CANDIDATES_LIMIT // self.top)}, or ask more precisely"
            )
        if self.per_site < 0:
            raise InputError(f"results of one site are counted from 1, or 0 for any number, not {self.per_site}")


@dataclass(frozen=True, slots=True)
class Hit:
    """Times are in seconds since the Unix epoch. `copies` are URLs with the same content."""

    url: str
    title: str
    snippet: list[Piece]
    site: str
    host: str
    language: str
    fetched_at: int
    published_at: int | None
    score: float
    rank: float  # 0 where it is not known
    copies: tuple[str, ...] = ()
    explanation: dict[str, float] = field(default_factory=dict)  # parts of the score, if they were asked for


@dataclass(frozen=True, slots=True)
class Results:
    """`count` is how many documents match, copies included; `filters` are those that were understood.

    Where very common words did not look for candidates, or not everywhere, the count may be an estimate.
    """

    hits: tuple[Hit, ...]
    count: int
    seconds: float
    page: int
    suggestion: str | None = None  # the question spelt as documents spell it
    filters: tuple[Filter, ...] = ()
    is_estimated: bool = False
