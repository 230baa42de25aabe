"""Tarrafa: a polite web crawler and search engine that does not slow down as it grows.

Rooms are verbs in the order in which a URL meets them; ARCHITECTURE.md walks through them. What moves between rooms
stands in `records`, what builds them from the configuration in `wiring`, what a user types in `cli`.
"""

__version__ = "0.1.0"
