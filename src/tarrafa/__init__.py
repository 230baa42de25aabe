"""Tarrafa: a polite web crawler and search engine that does not slow down as it grows.

    collection = tarrafa.crawl("https://example.org", dir="example", pages=1_000)
    for hit in collection.search("fishing net", top=5):
        print(hit.url, hit.title)

The names in `__all__` are the public API, and docs/reference/python.md lists them; everything else may change. They are
imported when they are first used, so that importing the package costs nothing.

Rooms are verbs in the order in which a URL meets them; ARCHITECTURE.md follows a URL through them. `records` has what
moves between rooms, `wiring` builds them from the configuration, and `cli` is the command line.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tarrafa.agent import Progress
    from tarrafa.collection import PastVisit
    from tarrafa.errors import ConfigurationError, InputError, PageMissingError, TarrafaError, WorkError
    from tarrafa.extract import Element
    from tarrafa.library.collected_page import CollectedPage
    from tarrafa.library.collection import Collection, KnownUrl, SearchHit
    from tarrafa.library.collection import Collection as open  # noqa: A004, N813
    from tarrafa.library.crawl import Crawl, crawl
    from tarrafa.library.crawl_status import CrawlStatus
    from tarrafa.library.crawled_page import CrawledPage, FoundUrl
    from tarrafa.library.hooks import Hooks

__version__ = "0.1.0"

# The public names, and the modules that have them.
_PUBLIC = {
    "Collection": "library.collection",
    "CollectedPage": "library.collected_page",
    "ConfigurationError": "errors",
    "Crawl": "library.crawl",
    "CrawlStatus": "library.crawl_status",
    "CrawledPage": "library.crawled_page",
    "Element": "extract",
    "FoundUrl": "library.crawled_page",
    "Hooks": "library.hooks",
    "InputError": "errors",
    "KnownUrl": "library.collection",
    "PageMissingError": "errors",
    "PastVisit": "collection",
    "Progress": "agent",
    "SearchHit": "library.collection",
    "TarrafaError": "errors",
    "WorkError": "errors",
    "crawl": "library.crawl",
    "open": "library.collection",
}
_OTHER_NAMES = {"open": "Collection"}

__all__ = [
    "CollectedPage",
    "Collection",
    "ConfigurationError",
    "Crawl",
    "CrawlStatus",
    "CrawledPage",
    "Element",
    "FoundUrl",
    "Hooks",
    "InputError",
    "KnownUrl",
    "PageMissingError",
    "PastVisit",
    "Progress",
    "SearchHit",
    "TarrafaError",
    "WorkError",
    "__version__",
    "crawl",
    "open",
]


# Type checkers read the imports above, and report names that are not there.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import a public name when it is first used."""
        if name not in _PUBLIC:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = getattr(import_module(f"{__name__}.{_PUBLIC[name]}"), _OTHER_NAMES.get(name, name))
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
