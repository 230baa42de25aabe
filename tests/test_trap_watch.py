"""The watch over traps: what stored answers of a host say about URLs of the same patterns."""

from collections.abc import Iterable

import pytest

from brains import A, B, BrainDriver, ended_urls, make_page, told
from tarrafa.agent import HostTable
from tarrafa.agent.host_table import MemoryHostStorage
from tarrafa.agent.instructions import TellPatternSlowed
from tarrafa.agent.trap_watch import VISITS_MIN, TrapWatch
from tarrafa.extract import extract
from tarrafa.records import Page
from tarrafa.schedule.pattern_yield import FRUITLESS_MAX

HTML = ("Content-Type", "text/html; charset=utf-8")
STORY = "Once upon a time there was a host, and each of its pages said something of its own about {}. "


def html(url: str, text: str, links: Iterable[str] = (), head: str = "", status: int = 200) -> Page:
    anchors = "".join(f'<p><a href="{link}">more of it</a></p>' for link in links)
    body = f"<html><head><title>Story</title>{head}</head><body><p>{text}</p>{anchors}</body></html>"
    return make_page(url, status, body.encode(), (HTML,))


class Watched:
    """A watch over the hosts of a table that is saved to memory."""

    def __init__(
        self,
        *,
        is_on: bool = True,
        marks_limit: int = 10_000,
        patterns_limit: int = 1_000,
        storage: MemoryHostStorage | None = None,
    ) -> None:
        self.storage = storage or MemoryHostStorage()
        self.hosts = HostTable(self.storage, self.storage, met_count=1 if storage else 0)
        self.watch = TrapWatch(
            self.hosts, "tarrafa", is_on=is_on, marks_limit=marks_limit, patterns_limit=patterns_limit
        )

    def meet(self, host: str = A) -> None:
        self.hosts.meet(host).visits = VISITS_MIN

    def note(self, page: Page) -> list[str]:
        news = self.watch.note(page, extract(page, page.body))
        return [each.pattern for each in news]

    def crawl(self, pages: Iterable[Page]) -> int:
        """Visit those pages that may be visited, and return how many these are."""
        count = 0
        for page in pages:
            if self.watch.refusal(A, page.url) is None:
                self.note(page)
                count += 1
        return count

    def restart(self) -> "Watched":
        changes, _ = self.hosts.take_changes()
        self.storage.commit(changes)
        return Watched(storage=self.storage)


def calendar(count: int) -> Iterable[Page]:
    for number in range(count):
        url = f"{A}/calendar/{2000 + number // 12}/{number % 12 + 1}"
        yield html(url, f"No events in {number % 12 + 1} / {2000 + number // 12}.", [f"{url[:-1]}{number + 1}", "/"])


def test_calendar_ends() -> None:
    watched = Watched()
    watched.meet()
    assert watched.crawl(calendar(5_000)) <= 2 * FRUITLESS_MAX
    url = f"{A}/calendar/3000/1"
    assert watched.watch.refusal_of_link(url) == watched.watch.refusal(A, url) == "pattern copies"
    assert watched.watch.refusal_of_link(f"{A}/page") is None
    assert watched.watch.refusal_of_link(f"{B}/calendar/3000/1") is None


def test_watch_that_is_off_refuses_nothing() -> None:
    watched = Watched(is_on=False)
    watched.meet()
    assert watched.crawl(calendar(1_000)) == 1_000


def test_archive_by_date_is_crawled_to_its_end() -> None:
    watched = Watched()
    watched.meet()
    days = [f"{A}/{2000 + n // 336}/{n // 28 % 12 + 1}/{n % 28 + 1}/title" for n in range(3_000)]
    assert (
        watched.crawl(html(url, STORY.format(url[-14:].replace("/", "x")) + "x" * n) for n, url in enumerate(days))
        == 3_000
    )


def test_lists_of_links_with_little_text_are_no_copies() -> None:
    """Monthly indexes of an archive, whose text is the same: they lead to pages that nothing else leads to."""
    watched = Watched()
    watched.meet()
    lists = (
        html(f"{A}/archive/{n // 12}/{n % 12}", "Archive", [f"/story/number-{n}-{m}" for m in range(9)])
        for n in range(600)
    )
    assert watched.crawl(lists) == 600


def test_sessions_end_and_the_pages_do_not() -> None:
    watched = Watched()
    watched.meet()
    names = [f"{A}/page-{'abcdefghij'[n % 10]}{'abcdefghij'[n // 10]}" for n in range(100)]
    with_session = [(name, f"{name}?sid={n * 99 + m:07x}a") for m in range(20) for n, name in enumerate(names)]
    assert watched.crawl(html(url, STORY.format(name)) for name, url in with_session) < 250
    assert watched.crawl(html(name, STORY.format(name)) for name in names) == 100


def test_bodies_of_types_that_are_not_wanted_are_not_asked_for_any_more() -> None:
    watched = Watched()
    watched.meet()
    archives = (make_page(f"{A}/snapshot/{n:07x}f.tar.gz", 200)._replace(unread=True) for n in range(300))
    assert watched.crawl(archives) <= FRUITLESS_MAX
    assert watched.watch.refusal(A, f"{A}/snapshot/ffffff00.tar.gz") == "pattern type"


def test_redirects_without_end_are_refused() -> None:
    watched = Watched()
    watched.meet()
    moved = (make_page(f"{A}/next/{n}", 302, b"", (("Location", f"{A}/next/{n + 1}"),)) for n in range(300))
    assert watched.crawl(moved) <= FRUITLESS_MAX


def test_redirects_to_pages_are_followed() -> None:
    watched = Watched()
    watched.meet()
    moved = (make_page(f"{A}/node/{n}", 301, b"", (("Location", f"{A}/story-{n}"),)) for n in range(300))
    assert watched.crawl(moved) == 300


def test_login_that_every_page_redirects_to_is_known_after_the_first() -> None:
    watched = Watched()
    watched.meet()
    location = "{}/login?next={}"
    moved = (make_page(f"{A}/edit/{n}", 302, b"", (("Location", location.format(A, n)),)) for n in range(300))
    assert watched.crawl(moved) <= 2 * FRUITLESS_MAX


def test_failing_host_blames_no_pattern() -> None:
    watched = Watched()
    watched.meet()
    assert watched.crawl(make_page(f"{A}/page/{n}", 503 if n % 2 else 429) for n in range(300)) == 300


def test_sitemaps_are_no_pages() -> None:
    watched = Watched()
    watched.meet()
    body = b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"></urlset>'
    maps = (make_page(f"{A}/sitemap-{n}.xml", 200, body, (("Content-Type", "application/xml"),)) for n in range(100))
    assert watched.crawl(maps) == 100


def test_host_with_few_visits_is_not_watched() -> None:
    watched = Watched()
    watched.hosts.meet(A).visits = VISITS_MIN - 1
    assert watched.crawl(calendar(200)) == 200


def test_new_process_goes_on_with_what_was_slowed() -> None:
    watched = Watched()
    watched.meet()
    watched.crawl(calendar(500))
    again = watched.restart()
    assert again.watch.refusal(A, f"{A}/calendar/3000/1") == "pattern copies"
    assert again.watch.refusal_of_link(f"{A}/calendar/3000/2") == "pattern copies"
    assert again.watch.refusal(A, f"{A}/page") is None
    assert again.watch.refusal(B, f"{B}/calendar/3000/1") is None


def test_slowed_patterns_move_with_their_host() -> None:
    watched, other = Watched(), Watched()
    watched.meet()
    watched.crawl(calendar(500))
    export = watched.hosts.export(A)
    assert export is not None
    other.hosts.adopt(export)
    assert other.watch.refusal(A, f"{A}/calendar/3000/1") == "pattern copies"


@pytest.mark.parametrize(("marks_limit", "patterns_limit"), [(50, 1_000), (10_000, 12)])
def test_hosts_that_were_not_visited_for_longest_are_dropped_from_memory_and_not_forgotten(
    marks_limit: int, patterns_limit: int
) -> None:
    watched = Watched(marks_limit=marks_limit, patterns_limit=patterns_limit)
    watched.meet()
    watched.meet(B)
    watched.crawl(calendar(500))
    for number in range(100):
        url = f"{B}/page-{'abcdefghij'[number % 10]}/{number}"
        watched.note(html(url, STORY.format(url)))
    assert watched.watch.refusal_of_link(f"{A}/calendar/3000/1") is None
    assert watched.watch.refusal(A, f"{A}/calendar/3000/1") == "pattern copies"


def test_refused_url_is_ended_at_its_turn_and_a_seed_is_not() -> None:
    brain = BrainDriver()
    brain.allow_all(A)
    brain.answer(brain.next_fetch())
    brain.record(A).visits = VISITS_MIN
    for month in calendar(500):
        brain.visits.page_read(month, extract(month, month.body))
    slowed = [each for each in told(brain.take()) if isinstance(each, TellPatternSlowed)]
    assert ("/calendar/#/#", "copies", True) in [
        (s.pattern.pattern, s.pattern.reason, s.pattern.is_refused) for s in slowed
    ]
    trap, page, seed = f"{A}/calendar/3000/1", f"{A}/page", f"{A}/calendar/3000/2"
    brain.schedule(trap, page, depth=3)
    brain.schedule(seed, depth=0)
    fetches = [brain.next_fetch()]
    brain.answer(fetches[0])
    ended = ended_urls(brain.take())
    fetches.append(brain.next_fetch())
    assert {fetch.request.url for fetch in fetches} == {page, seed}
    assert [(each.url, each.refusal) for each in ended] in ([], [(trap, "pattern copies")])


NOINDEX = '<meta name="robots" content="noindex,{}">'


def edit_forms(count: int, directive: str) -> Iterable[Page]:
    for n in range(count):
        name = f"{'abcdefghij'[n % 10]}-{n}"
        url = f"{A}/w?title={name}&action=edit"
        yield html(url, STORY.format(name), [f"/w?title={name}&action=history"], NOINDEX.format(directive))


def test_pages_that_ask_neither_to_be_indexed_nor_to_be_followed_end() -> None:
    watched = Watched()
    watched.meet()
    watched.note(html(f"{A}/", STORY.format("home")))
    assert watched.crawl(edit_forms(500, "nofollow")) <= 2 * FRUITLESS_MAX
    assert watched.watch.refusal_of_link(f"{A}/w?title=other&action=edit") == "pattern noindex"


def test_host_of_pages_that_ask_not_to_be_indexed_is_crawled() -> None:
    """The copy of a site for tests, which no search engine is to show."""
    watched = Watched()
    watched.meet()
    names = [f"{'abcdefghij'[n % 10]}-{n}" for n in range(300)]
    for directive in ("follow", "nofollow"):
        pages = [
            html(f"{A}/{directive}/{x}", STORY.format(x + directive), (), NOINDEX.format(directive)) for x in names
        ]
        assert watched.crawl(pages) == 300


def test_lists_that_ask_not_to_be_indexed_and_lead_on_are_crawled() -> None:
    watched = Watched()
    watched.meet()
    watched.note(html(f"{A}/", STORY.format("home")))
    pages = [
        html(f"{A}/list?from={n}", "List", [f"/story/{n}-{m}" for m in range(9)], NOINDEX.format("follow"))
        for n in range(300)
    ]
    assert watched.crawl(pages) == 300


def test_header_asks_not_to_be_indexed_too() -> None:
    watched = Watched()
    watched.meet()
    watched.note(html(f"{A}/", STORY.format("home")))
    headers = (("Content-Type", "text/plain"), ("X-Robots-Tag", "noindex"))
    texts = (make_page(f"{A}/w?id={n}x&do=raw", 200, STORY.format(n).encode(), headers) for n in range(300))
    assert watched.crawl(texts) <= 2 * FRUITLESS_MAX
