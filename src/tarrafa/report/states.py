"""In which state are the known URLs? As of the repository's last commit, also while a crawl works in it."""

from pathlib import Path
from typing import Any, NamedTuple

from tarrafa.verify import counts_of


class States(NamedTuple):
    known: int = 0
    collected: int = 0  # of these: done with, whatever became of them
    scheduled: int = 0  # of these: chosen to be fetched next
    waiting: int = 0  # offered, and not verified yet
    hosts: int = 0
    blocks: int = 0

    @property
    def remaining(self) -> int:
        return self.known - self.collected - self.scheduled

    def told(self) -> dict[str, Any]:
        return {**self._asdict(), "remaining": self.remaining}


def states_of(repository: Path) -> States:
    counts = counts_of(repository)
    return States(**{name: getattr(counts, name) for name in States._fields})


def joined(states: list[States]) -> States:
    """Of several agents."""
    return States(*map(sum, zip(*states, strict=True)))
