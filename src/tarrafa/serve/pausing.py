"""When may the next process be started in the place of one that has ended? Pure: time is passed in.

1. The first is replaced at once; between one replacement and the next there are at least `PAUSE_SECONDS`.
2. Where processes end before they have answered anything, the pause doubles each time, up to `LONGEST_SECONDS`. As soon
   as one is ready it is short again.
"""

PAUSE_SECONDS = 3.0
LONGEST_SECONDS = 60.0


class Pauses:
    def __init__(self) -> None:
        self._free_at = 0.0
        self._pause_seconds = PAUSE_SECONDS
        self._is_failing = False  # since the last that was ready, one was not

    def wait_seconds(self, now: float) -> float:
        """How long the next replacement has to wait, which is then counted."""
        begins_at = max(now, self._free_at)
        self._free_at = begins_at + self._pause_seconds
        return begins_at - now

    def ready(self) -> None:
        self._pause_seconds, self._is_failing = PAUSE_SECONDS, False

    def failed(self) -> bool:
        """One has ended before it was ready; True for the first such, of which the operator is to be told."""
        is_first, self._is_failing = not self._is_failing, True
        self._pause_seconds = min(2 * self._pause_seconds, LONGEST_SECONDS)
        return is_first
