"""A crawl without a world: the agent's brain over a synthetic web, on virtual time, in one loop.

The decisions are those of production: host table, workbench, frontier, visits, discovery. The rest is simulated: the
transport answers from memory, a checkpoint hands its batch to a repository in memory, and time jumps from event to
event; the wall clock may jump besides. There is no socket, no file and no thread.

With `looks`, the crawl keeps its pages fresh until a given moment. `restart` does what a kill and a new start do.

Links come from `SyntheticWeb.followed_urls` instead of from parsed HTML, because rendering and parsing would take
nearly all of the time. Sitemaps and redirects are read by `extract`. A crawl that reads bodies parses HTML too, and
watches what each visit brings, as the agent does.
"""

import heapq
import math
from collections.abc import Callable, Sequence
from itertools import count
from typing import NamedTuple

from tarrafa.agent.brain import Brain
from tarrafa.agent.frontier import SuspendedHosts
from tarrafa.agent.host_table import MemoryHostStorage
from tarrafa.agent.instructions import CountRefused, EndUrl, Fetch, OfferSitemaps, Purpose, Resolve
from tarrafa.agent.outcomes import NO_FILE, outcome_of, status_of
from tarrafa.agent.refresh_looks import RefreshLooks
from tarrafa.agent.store import scheduled_urls
from tarrafa.agent.unsaved import CHANGED, REFRESHES, CollectedVisit, Totals, Unsaved
from tarrafa.agent.url_batches import batch_of
from tarrafa.clock import Instant
from tarrafa.extract import Extract, PageFormat, PageLinks, extract
from tarrafa.histories import Change
from tarrafa.keep import Place
from tarrafa.lab.web import MemoryTransport, SyntheticWeb
from tarrafa.obey import read_directives, wall_of
from tarrafa.records import Failure, Page
from tarrafa.schedule import WAIT_MAX_SECONDS, one_link_further
from tarrafa.verify import KnownPage, Repository, Weigh

_EPOCH_SECONDS = 1_700_000_000.0  # the wall clock at the start
_TICK_SECONDS = 0.001  # the least that passes while waiting: the wall clock is not exact
_ROUNDING_SECONDS = 1e-6
_CHECKPOINT_VISITS = 5_000
_OUR_NAME = "tarrafa"  # our name in directives of pages
_NO_PLACE = Place(NO_FILE, 0)


def _steady(now: float) -> float:
    return _EPOCH_SECONDS + now


class _Event(NamedTuple):
    """An instruction that was carried out, and what came of it."""

    when: float
    order: int
    instruction: Fetch | Resolve
    result: Page | Failure | tuple[str, ...]


class SimulatedCrawl:
    def __init__(
        self,
        web: SyntheticWeb,
        transport: MemoryTransport,
        brain: Brain,
        storage: MemoryHostStorage,
        repository: Repository,
        wall: Callable[[float], float] = _steady,
        weighing: Callable[[Sequence[str]], Weigh | None] | None = None,  # from the pages to new weights, if due
        checkpoint_visits: int = _CHECKPOINT_VISITS,
        speed: float = 0.0,  # seconds of the web per virtual second, as the transport has it
        reads_bodies: bool = False,  # the transport must give them
    ) -> None:
        self._speed = speed
        self._reads_bodies = reads_bodies
        self._weighing = weighing
        self._checkpoint_visits = checkpoint_visits
        self._web = web
        self._transport = transport
        self._brain = brain
        self._storage = storage
        self._repository = repository
        self._wall = wall
        self._now = 0.0
        self._unsaved = Unsaved()
        self._batch_number = 0
        # Fetches and look-ups under way, a heap by when they end. Filled by _carry_out, emptied by _receive.
        self._events: list[_Event] = []
        self._order = count()
        self.pages: list[str] = []  # URLs of the pages that were fetched, in order
        self.answers: list[str] = []  # of all answers that the agent would store
        self.totals = Totals()

        # Chooses pages that are visited again; None for a crawl that ends.
        self.looks: RefreshLooks | None = None
        self._started_at = 0.0  # of the process; its monotonic clock begins there
        self.visited: list[tuple[str, float]] = []  # URL and time of each visit that brought a page

    @property
    def seconds(self) -> float:
        """The virtual time that has passed."""
        return self._now

    def restart(self, brain: Brain) -> None:
        """Go on with another brain, as after a kill: all is lost but what is in the archive and what was saved."""
        self._brain, self._events, self._started_at = brain, [], self._now

    def run(self, *seeds: str, is_waiting: bool = False, until: float = math.inf) -> None:
        """Crawl until nothing is left to visit, except for suspended hosts if it is not to wait for them."""
        for url in seeds:
            self._brain.discovery.offer_seed(self._unsaved, url)
        self._checkpoint()
        while self._now < until:
            is_short = self._brain.visits.step(self.at, 2**31)
            self._carry_out()
            if self._is_checkpoint_due(is_short):
                self._checkpoint()
            elif self.looks is not None:
                self._look(self.looks, is_short)
            elif not self._advance(is_short) and not self._search_blocks() and not (is_waiting and self._wait()):
                return

    def _look(self, looks: RefreshLooks, is_short: bool) -> None:
        """Look at the collection if that is due, else move to the next event or to that moment."""
        due_at = self._moment(looks.due_at)
        if due_at <= self._now:
            self._search_blocks()
            load = looks.load(self.totals[REFRESHES], is_settled=True)
            looks.take(looks.look(self, load, self.at), self.at)
        elif not self._advance(is_short, due_at):
            self._now = due_at

    def blocks(self) -> list[int]:
        return self._repository.blocks()

    def rate(self, block: int) -> None:
        """Do nothing: the importance of pages is set from outside."""

    def _moment(self, monotonic: float) -> float:
        """Return the virtual time of a moment of the process's clock, or a little more, because sums are rounded."""
        return self._started_at + monotonic + (_ROUNDING_SECONDS if self._started_at else 0.0)

    @property
    def at(self) -> Instant:
        return Instant(self._now - self._started_at, self._wall(self._now))

    def _is_checkpoint_due(self, is_short: bool) -> bool:
        """Return True if much is unsaved, or if only a cycle can bring more URLs."""
        is_waiting = self.looks is None and is_short and not self._brain.frontier.has_buffered and not self._events
        return len(self._unsaved.ended) >= self._checkpoint_visits or (is_waiting and bool(self._unsaved))

    def _advance(self, is_short: bool, until: float = math.inf) -> bool:
        """Move to the next event, or to a moment before it; return False if there is none, now or later."""
        wake_at = self._brain.visits.wake_at(self.at) if is_short else None
        if self._brain.visits.is_exhausted(self.at) and not self._events:
            return False
        times = [self._events[0].when] if self._events else []
        times += [] if wake_at is None else [self._moment(wake_at)]
        if not times:
            return False
        self._now = max(self._now, min(*times, until))
        while self._events and self._events[0].when <= self._now:
            self._receive(heapq.heappop(self._events))
        return True

    def _wait(self) -> bool:
        """Move to the moment at which the first suspended host comes back; return False if there is none."""
        until = self._brain.frontier.suspended.until
        if until is not None:
            wait_seconds = min(until - self.at.wall, WAIT_MAX_SECONDS)
            self._now += max(_TICK_SECONDS, wait_seconds)
        return until is not None

    def _search_blocks(self) -> bool:
        """Save and verify what is left; return True if any block has something new to visit."""
        self._brain.frontier.suspended = SuspendedHosts()
        has_new = self._checkpoint()
        while self._repository.counts().waiting:
            has_new |= self._checkpoint()
        frontier, blocks = self._brain.frontier, self._repository.blocks()
        frontier.admit_mirrors(is_admitted=False)
        if self._schedule(blocks) or has_new:
            return True
        return frontier.admit_mirrors(is_admitted=True) and self._schedule(blocks)

    def _carry_out(self) -> None:
        frontier = self._brain.frontier
        instructions, frontier.instructions = frontier.instructions, []
        for instruction in instructions:
            match instruction:
                case Fetch():
                    seconds, got = self._transport.answer(instruction.request, self._now)
                    self._push(seconds, instruction, got)
                case Resolve():
                    self._push(0.0, instruction, self._transport.look_up(instruction.name, self._now))
                case EndUrl(url, failure, refusal, known):
                    self._end(url, status_of(failure, refusal))
                    self._unsaved.counts[REFRESHES] += known is not None
                case CountRefused(reason, urls_count):
                    self._unsaved.counts[f"refusal {reason}"] += urls_count
                case OfferSitemaps(host, urls):
                    self._brain.discovery.offer_sitemaps(self._unsaved, host, urls)

    def _push(self, seconds: float, instruction: Fetch | Resolve, result: Page | Failure | tuple[str, ...]) -> None:
        heapq.heappush(self._events, _Event(self._now + seconds, next(self._order), instruction, result))

    def _receive(self, event: _Event) -> None:
        instruction, result, visits = event.instruction, event.result, self._brain.visits
        if isinstance(instruction, Resolve):
            assert not isinstance(result, Page)
            visits.resolved(instruction.host, result, self.at)
            return
        assert isinstance(result, Page | Failure)
        if instruction.purpose is Purpose.ROBOTS:
            visits.robots_fetched(instruction.visit, result, self.at)
        elif isinstance(result, Failure):
            visits.page_failed(instruction.visit, result, self.at)
        elif (wall := wall_of(result, result.body)) is not None:
            visits.page_walled(instruction.visit, result, wall, self.at)
        elif visits.page_fetched(instruction.visit, result, self.at):
            self._ingest(result._replace(at=self.at.wall), instruction)
        self._carry_out()

    def _ingest(self, page: Page, fetch: Fetch) -> None:
        """Take in a page as the agent does, without its document."""
        if fetch.known is None:
            self._end(page.url, page.status)
            self._unsaved.counts["pages"] += 1
        else:
            self._end_refresh(page, fetch.known)
        if page.status == 200:
            self.pages.append(page.url)
            self.visited.append((page.url, self._now))
        self.answers.append(page.url)
        found, distance = self._extract(page), one_link_further(fetch.distance)
        if not read_directives(page.headers, found.robots, _OUR_NAME).nofollow:
            self._brain.discovery.follow_links(self._unsaved, found, distance, fetch.cash)
        self._brain.discovery.follow_listed(self._unsaved, found, distance)
        self._brain.visits.page_kept(page, found.document.signature)
        if self._reads_bodies:
            self._brain.visits.page_read(page, found)

    def _extract(self, page: Page) -> Extract:
        if self._reads_bodies or page.status != 200 or page.media_type != "text/html":
            return extract(page, page.body)
        targets = tuple(self._web.followed_urls(page.url, self._web_ms(self._now)))
        links = PageLinks(targets, ("",) * len(targets), ("",) * len(targets), ())
        return Extract(page.url, PageFormat.HTML, links=links)

    def _end(self, url: str, status: int) -> None:
        self._unsaved.end(url, self.at.wall, status, _NO_PLACE)
        self._unsaved.counts[f"outcome {outcome_of(status)}"] += 1

    def _end_refresh(self, page: Page, known: KnownPage) -> None:
        """Note what a visit to a page that was collected before has found."""
        has_changed = self._has_changed(page.url, known.visited_seconds)
        place = known.file, known.offset
        change = Change.FULL if has_changed else Change.NONE
        self._unsaved.ended.append(CollectedVisit(page.url, self.at.wall, page.status, *place, change))
        self._unsaved.counts[REFRESHES] += 1
        self._unsaved.counts[CHANGED] += has_changed

    def _has_changed(self, url: str, since: float) -> bool:
        """Return True if the web has changed a page since a moment of the wall clock."""
        authority, _, rest = url.removeprefix("http://").partition("/")
        host = self._web.hosts.find(authority)
        page = self._web.find(host, f"/{rest}") if host else None
        if host is None or page is None:
            return False
        changed_ms = self._web.pages.changed_ms(host, page, self._web_ms(self._now))
        return changed_ms > self._web_ms(since - self._wall(0.0))

    def _web_ms(self, now: float) -> int:
        return int(1_000 * self._speed * now)

    def _checkpoint(self) -> bool:
        """Save everything in memory, and run a cycle; return True if that schedules anything new."""
        unsaved, self._unsaved = self._unsaved, Unsaved()
        changes, files = self._brain.hosts.take_changes()
        self._storage.commit(changes)
        self._brain.hosts.saved(files)
        self.totals = self.totals.plus(unsaved.counts, changes.counts)
        self._batch_number += 1
        self._repository.cycle(batch_of(self._batch_number, unsaved))
        self._brain.frontier.finish([each[0] for each in unsaved.ended])
        weigh = None if self._weighing is None else self._weighing(self.pages)
        if weigh is not None:
            for block in self._repository.blocks():
                self._repository.weigh(block, weigh)
        return self._schedule(self._repository.blocks_verified())

    def _schedule(self, blocks: list[int]) -> bool:
        scheduled = scheduled_urls(self._repository, self._repository.counts(), blocks)
        has_new = [self._brain.frontier.scheduled(each, self.at) for each in scheduled]
        self._carry_out()
        return any(has_new)
