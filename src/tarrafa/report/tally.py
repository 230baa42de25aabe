"""How often does each text come? Bounded, because strangers choose the texts."""

from collections import Counter
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

# Different texts that are told apart; those that come later, when there are as many, are counted together.
TEXTS_LIMIT = 10_000


class Tallied(NamedTuple):
    """The most frequent texts first."""

    rows: list[tuple[str, int]]
    others: int  # the counts of all that have no row
    different: int  # texts that were told apart

    def told(self) -> dict[str, Any]:
        return {
            "rows": [{"name": name, "count": count} for name, count in self.rows],
            "others": self.others,
            "different": self.different,
        }


class Tally:
    def __init__(self, texts_limit: int = TEXTS_LIMIT) -> None:
        self._texts_limit = texts_limit
        self._counts: Counter[str] = Counter()
        self._others = 0

    def add_column(self, column: pa.Array) -> None:
        for each in pc.value_counts(column).to_pylist():
            self.add(str(each["values"]), each["counts"])

    def add(self, text: str, count: int) -> None:
        if text in self._counts or len(self._counts) < self._texts_limit:
            self._counts[text] += count
        else:
            self._others += count

    @property
    def total(self) -> int:
        return self._counts.total() + self._others

    def top(self, limit: int) -> Tallied:
        """Among equals the order is that of the texts, so that it is the same each time."""
        rows = sorted(self._counts.items(), key=lambda row: (-row[1], row[0]))[:limit]
        return Tallied(rows, self.total - sum(count for _, count in rows), len(self._counts))
