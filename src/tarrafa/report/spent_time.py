"""The time that a crawl spent in each step, and its split beside that of the VEUNIQ paper, as rows of tables."""

from collections.abc import Mapping
from typing import NamedTuple

from tarrafa.agent import CrawlStep


class PaperPart(NamedTuple):
    name: str
    paper_seconds: float  # for a cycle of 100,000 URLs
    steps: tuple[CrawlStep, ...]  # ours that do the same


PAPER_URLS = 100_000
_FETCHER = PaperPart(
    "fetch", 240.0, (CrawlStep.NAMES, CrawlStep.CONNECT, CrawlStep.FIRST_BYTE, CrawlStep.BODY, CrawlStep.FAILED)
)
PAPER = (
    _FETCHER,
    PaperPart("extract", 12.0, (CrawlStep.DECODE, CrawlStep.EXTRACT, CrawlStep.DISCOVER)),
    PaperPart("verify uniqueness", 9.3, (CrawlStep.VERIFY,)),
    PaperPart("schedule", 6.0, (CrawlStep.SCHEDULE,)),
)


def per_1000(seconds: float, pages: int) -> float:
    """Return the seconds per 1,000 pages; 0 without a page."""
    return 1000 * seconds / pages if pages else 0.0


def spent_rows(spent_seconds: Mapping[str, float], pages: int) -> list[tuple[str, str, str]]:
    """Return name, seconds, and seconds per 1,000 pages of each step."""
    return [
        (step, f"{seconds:,.2f} s", f"{per_1000(seconds, pages):,.3f} s") for step, seconds in spent_seconds.items()
    ]


def paper_rows(spent_seconds: Mapping[str, float], pages: int) -> list[tuple[str, str, str, str, str]]:
    """Return each part of a cycle: the paper's seconds per 1,000 URLs, its share without fetching, and ours."""
    if not spent_seconds:
        return []
    ours = {part: sum(spent_seconds.get(step, 0.0) for step in part.steps) for part in PAPER}
    theirs = {part: part.paper_seconds for part in PAPER}
    return [
        (
            part.name,
            f"{per_1000(theirs[part], PAPER_URLS):.3f} s",
            _share(part, theirs),
            f"{per_1000(ours[part], pages):,.3f} s",
            _share(part, ours),
        )
        for part in PAPER
    ]


def _share(part: PaperPart, seconds: Mapping[PaperPart, float]) -> str:
    total = sum(each for other, each in seconds.items() if other is not _FETCHER)
    return "" if part is _FETCHER or not total else f"{100 * seconds[part] / total:.0f}%"
