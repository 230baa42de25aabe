"""Counts since a crawl began."""

from collections import Counter


class Totals(Counter[str]):
    """`pages`, `bytes`, `hosts`, and by kind: `outcome fetched`, `refusal outside`, …"""

    def named(self, kind: str) -> dict[str, int]:
        """Of one kind, by what follows its name."""
        return {key.removeprefix(f"{kind} "): n for key, n in sorted(self.items()) if key.startswith(f"{kind} ")}
