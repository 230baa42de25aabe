"""Tell an outage of this machine's own network from hosts that fail: when nearly all of the last visits failed.

The breaker remembers the last result of each of the last addresses and names. Only those of hosts that answered before
are evidence, because a list of dead links fails too; an answer speaks against an outage while its host has more URLs.
While an outage lasts, no visits begin but a few probes, at
growing intervals, and no failure counts against a host or a URL. Any answer ends it.

With few hosts an outage looks like hosts that died. Then only a failure of one's own side is believed (no route, no
name server), and not for ever. When the breaker stops believing, failures count again and suspend the hosts. That loses
nothing either, because such failures are doubtful: hosts that answered before have failed, and none has answered since.
No host is given up for a doubtful failure, however long an outage lasts.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from tarrafa.records import FailureKind

# One's own side has failed: no packet has left, or no name server has answered.
OWN_KINDS = frozenset({FailureKind.NAME_SERVER, FailureKind.UNREACHABLE})
NETWORK_KINDS = OWN_KINDS | {FailureKind.REFUSED, FailureKind.TIMEOUT, FailureKind.RESET}

WINDOW_COUNT = 20  # different addresses and names
WINDOW_SECONDS = 120.0  # older results say nothing about now
FAILED_MIN_COUNT = 5  # so many different addresses must fail, unless all failures are of one's own side
_ANSWERED_SHARE = 10  # at most one of so many may have answered
_UNKNOWN_HOST, _FAILING_COUNT = "", 2
PROBES_COUNT = 3  # visits and look-ups at a time
PROBE_MIN_SECONDS, PROBE_MAX_SECONDS = 5.0, 300.0  # until the next probes; doubles each time
# How long an outage is believed: of few addresses, of many.
FEW_SECONDS, MANY_SECONDS = 3_600.0, 7 * 86_400.0


class LastResult(NamedTuple):
    at: float
    host: str
    failure: FailureKind | None  # None for an answer


class OutageBreaker:
    """`now` is monotonic seconds."""

    def __init__(self) -> None:
        # Hosts that answered before and have failed since the last answer; two are as good as more. Until the first
        # answer nothing is known, as if a host had failed. Filled by failed, emptied by answered.
        self._failing = {_UNKNOWN_HOST}
        self._answered_at = float("-inf")
        # By address or name, the latest at the end. Filled by answered and failed, which also drop old ones.
        self._results: OrderedDict[str, LastResult] = OrderedDict()
        self.began_at: float | None = None  # of the outage; None if the network seems to be up
        # Different addresses and names that failed in this outage, up to FAILED_MIN_COUNT. Filled by failed.
        self._failed: set[str] = set()
        self.is_disbelieved = False  # this outage lasts too long to be one; until the next answer
        self._probe_seconds = PROBE_MIN_SECONDS
        self.probe_at = 0.0
        self.room = 0  # probes that may begin
        self._resolved_count = 0  # names that were resolved since probes were due

    @property
    def is_open(self) -> bool:
        """True during an outage."""
        return self.began_at is not None

    @property
    def may_begin(self) -> bool:
        """True if a visit or look-up may begin."""
        return not self.is_open or self.room > 0

    def begun(self, count: int = 1) -> None:
        """Note that visits or look-ups begin."""
        if self.is_open:
            self.room -= count

    def answered(self, key: str, host: str, now: float) -> None:
        """Note that an address has answered, which ends an outage."""
        if self.is_open:
            self._results.clear()
        self._failing.clear()
        self._answered_at = now
        self.began_at, self.is_disbelieved, self._probe_seconds = None, False, PROBE_MIN_SECONDS
        self._note(key, LastResult(now, host, None))

    def resolved(self) -> None:
        """Note that a probe has found an address, which proves nothing yet: a cache may know it. It may be visited."""
        if self.is_open and self._resolved_count < PROBES_COUNT:
            self._resolved_count += 1
            self.room += 1

    def failed(self, key: str, host: str, kind: FailureKind, now: float, *, is_evidence: bool) -> bool:
        """Note a failure; return True if it is that of the network, and counts against no host."""
        if kind not in NETWORK_KINDS:
            return False
        if is_evidence:
            if len(self._failing) < _FAILING_COUNT:
                self._failing.add(host)
            self._note(key, LastResult(now, host, kind))
        if self.is_open and len(self._failed) < FAILED_MIN_COUNT:
            self._failed.add(key)
        if self.began_at is not None and now >= self.began_at + self._believed_seconds():
            self.began_at, self.is_disbelieved = None, True
        elif self.began_at is None and not self.is_disbelieved and self._is_down():
            self.began_at, self.room, self._probe_seconds = now, 0, PROBE_MIN_SECONDS
            self.probe_at = now + self._probe_seconds
            self._failed = {name for name, each in self._results.items() if each.failure is not None}
        return self.is_open

    def forget_answers(self, is_visited: Callable[[str], bool]) -> None:
        """Forget the answers of hosts that are not visited any more: they would not notice that the network fails."""
        for key, each in [*self._results.items()]:
            if each.failure is None and not is_visited(each.host):
                del self._results[key]

    def is_doubtful(self, host: str, kind: FailureKind, now: float) -> bool:
        """Return True if such a failure says nothing about its host: the network may be down, noticed or not.

        When no other host fails, the host may just have broken down, so nothing must have answered for longer.
        """
        if not self._failing or kind not in NETWORK_KINDS:
            return False
        silent_seconds = FEW_SECONDS if self._failing == {host} else WINDOW_SECONDS
        return now > self._answered_at + silent_seconds

    def failing_hosts(self) -> list[str]:
        """Return the hosts whose failures were counted before the outage was noticed."""
        return [each.host for each in self._results.values() if each.failure is not None]

    def tick(self, now: float) -> None:
        """Make room for probes when they are due."""
        if self.is_open and now >= self.probe_at:
            self.room, self._resolved_count = PROBES_COUNT, 0
            self._probe_seconds = min(2 * self._probe_seconds, PROBE_MAX_SECONDS)
            self.probe_at = now + self._probe_seconds

    def _note(self, key: str, result: LastResult) -> None:
        self._results[key] = result
        self._results.move_to_end(key)
        while len(self._results) > WINDOW_COUNT or next(iter(self._results.values())).at < result.at - WINDOW_SECONDS:
            self._results.popitem(last=False)

    def _is_down(self) -> bool:
        failed = [each.failure for each in self._results.values() if each.failure is not None]
        if not failed or _ANSWERED_SHARE * (len(self._results) - len(failed)) > len(self._results):
            return False
        return len(failed) >= FAILED_MIN_COUNT or OWN_KINDS.issuperset(failed)

    def _believed_seconds(self) -> float:
        return MANY_SECONDS if len(self._failed) >= FAILED_MIN_COUNT else FEW_SECONDS
