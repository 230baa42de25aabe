"""The versions of one page: its history, and what changed between two of them."""

import difflib
from collections.abc import Iterator, Sequence
from itertools import islice

from tarrafa.agent import CrawlFolder, checkpoint_of
from tarrafa.collection.history import PastVisit, history_of
from tarrafa.dates import format_moment, parse_end
from tarrafa.errors import InputError, PageMissingError
from tarrafa.keep.finder import Finder, newest_visits
from tarrafa.library.collected_page import CollectedPage, find_page
from tarrafa.schedule import read_seed
from tarrafa.texts import quoted
from tarrafa.versions import VERSION

HISTORY_VISITS = 1_000  # the newest


def read_moment(text: str) -> float:
    """Return the end of what a date names, in seconds since the Unix epoch."""
    end = parse_end(text)
    if end is None:
        raise InputError(f"{quoted(text)} is no date; give one such as 2026-11, 2026-11-19 or 2026-11-19T14:30:00Z")
    return end


def find_history(folder: CrawlFolder, finder: Finder, url: str) -> list[PastVisit]:
    """Return the newest visits of a URL, newest first. Raise PageMissingError, which says why, if there are none."""
    with finder.documents(checkpoint_of(folder.hosts).number) as stretches:
        rows = [found.visit for found in islice(newest_visits(stretches, read_seed(url)), HISTORY_VISITS)]
    if not rows:
        find_page(folder, finder, url)
    return history_of(rows[::-1])


def find_versions(folder: CrawlFolder, finder: Finder, url: str, dates: Sequence[str]) -> list[CollectedPage]:
    """Return two versions of a page, the older first: those of two dates, or of a date and now, or the last two."""
    moments = sorted(read_moment(text) for text in dates)
    if not moments:
        moments = _last_moments(folder, finder, read_seed(url))
    found = [find_page(folder, finder, url, moment) for moment in moments[:2]]
    return found if len(moments) > 1 else [*found, find_page(folder, finder, url)]


def _last_moments(folder: CrawlFolder, finder: Finder, url: str) -> list[float]:
    """Return when the last two versions were fetched."""
    with finder.documents(checkpoint_of(folder.hosts).number) as stretches:
        versions = (found.visit for found in newest_visits(stretches, url) if found.visit.outcome == VERSION)
        moments = [visit.fetched_at for visit in islice(versions, 2)][::-1]
    if len(moments) == 1:
        raise PageMissingError(f"{url} has one version only, of {format_moment(moments[0])}: nothing to compare")
    if not moments:
        find_page(folder, finder, url)
        raise PageMissingError(f"{url} was never fetched with success, so it has no versions")
    return moments


def diff_lines(old: CollectedPage, new: CollectedPage) -> Iterator[str]:
    """Yield a unified diff of the titles and texts of two versions; nothing if they are equal."""
    before, after = ([page.title, *page.text.splitlines()] for page in (old, new))
    first, second = (f"{page.url} {format_moment(page.fetched_at.timestamp())}" for page in (old, new))
    return difflib.unified_diff(before, after, first, second, lineterm="")
