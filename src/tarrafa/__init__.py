"""Tarrafa: a polite web crawler and search engine that does not slow down as it grows.

Rooms are verbs in the order in which a URL meets them; ARCHITECTURE.md follows a URL through them. `records` has what
moves between rooms, `wiring` builds them from the configuration, and `cli` is the command line.
"""

__version__ = "0.1.0"
