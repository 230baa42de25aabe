"""What extraction finds: plain frozen records, without any reference to the page, so that they go between processes."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple, TypeVar, overload

T = TypeVar("T")


class Format(StrEnum):
    HTML = "html"
    SITEMAP = "sitemap"
    FEED = "feed"
    TEXT = "text"
    OTHER = "other"  # nothing is read from it: images, PDF, unknown XML, and answers without a body


class LinkKind(StrEnum):
    """Where the href stood."""

    A = "a"
    AREA = "area"
    IFRAME = "iframe"
    FRAME = "frame"
    LINK = "link"  # a link element whose rel leads to a page
    REFRESH = "refresh"  # meta refresh, or the header of that name
    IMAGE = "image"  # img and srcset, when asked for
    HEADER = "header"  # the HTTP header Link
    REDIRECT = "redirect"  # the HTTP header Location


class Link(NamedTuple):
    """From the page to `target`. Position counts the page's links from 0; what stands in the header comes first."""

    target: str
    text: str = ""
    rel: str = ""  # in lower case, words separated by one space
    kind: LinkKind = LinkKind.A
    position: int = 0


class Links(Sequence[Link]):
    """The links of a page, in its order. Kept by column: there are many of them, and most are only passed on."""

    __slots__ = ("kinds", "rels", "targets", "texts")

    def __init__(
        self,
        targets: tuple[str, ...] = (),
        texts: tuple[str, ...] = (),
        rels: tuple[str, ...] = (),
        kinds: tuple[LinkKind, ...] = (),
    ) -> None:
        self.targets, self.texts, self.rels, self.kinds = targets, texts, rels, kinds

    @property
    def columns(self) -> tuple[Sequence[str], Sequence[str], Sequence[str], Sequence[LinkKind], Sequence[int]]:
        return self.targets, self.texts, self.rels, self.kinds, range(len(self.targets))

    def __add__(self, after: "Links") -> "Links":
        if not self.targets:
            return after
        return Links(
            self.targets + after.targets, self.texts + after.texts, self.rels + after.rels, self.kinds + after.kinds
        )

    def __len__(self) -> int:
        return len(self.targets)

    def __iter__(self) -> Iterator[Link]:
        return map(Link, *self.columns)

    @overload
    def __getitem__(self, at: int) -> Link: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Link, ...]: ...
    def __getitem__(self, at: int | slice) -> Link | tuple[Link, ...]:
        return tuple(self)[at]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Links) and self.columns == other.columns

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(tuple(self))


class Listed(NamedTuple):
    """A URL that a sitemap or a feed names."""

    url: str
    title: str = ""
    modified_seconds: float | None = None  # since the Unix epoch
    priority: float | None = None
    is_sitemap: bool = False  # a further sitemap, named by an index


class Listing(Sequence[Listed]):
    """What a sitemap or a feed names, in its order. Kept by column: there may be very many, which go between processes.

    A column of which nothing is said is empty.
    """

    __slots__ = ("are_sitemaps", "modified_seconds", "priorities", "titles", "urls")

    def __init__(
        self,
        urls: tuple[str, ...] = (),
        titles: tuple[str, ...] = (),
        modified_seconds: tuple[float | None, ...] = (),
        priorities: tuple[float | None, ...] = (),
        are_sitemaps: tuple[bool, ...] = (),
    ) -> None:
        self.urls = urls
        self.titles = _said(titles, "")
        self.modified_seconds = _said(modified_seconds, None)
        self.priorities = _said(priorities, None)
        self.are_sitemaps = _said(are_sitemaps, False)

    def bare(self) -> "Listing":
        """Where to go, without what else is said of it."""
        return Listing(self.urls, are_sitemaps=self.are_sitemaps)

    @property
    def columns(
        self,
    ) -> tuple[Sequence[str], Sequence[str], Sequence[float | None], Sequence[float | None], Sequence[bool]]:
        count = len(self.urls)
        return (
            self.urls,
            self.titles or ("",) * count,
            self.modified_seconds or (None,) * count,
            self.priorities or (None,) * count,
            self.are_sitemaps or (False,) * count,
        )

    def __len__(self) -> int:
        return len(self.urls)

    def __iter__(self) -> Iterator[Listed]:
        return map(Listed, *self.columns)

    @overload
    def __getitem__(self, at: int) -> Listed: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Listed, ...]: ...
    def __getitem__(self, at: int | slice) -> Listed | tuple[Listed, ...]:
        return tuple(self)[at]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Listing) and self.columns == other.columns

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(tuple(self))


def _said(column: tuple[T, ...], nothing: T) -> tuple[T, ...]:
    return () if column.count(nothing) == len(column) else column


class Document(NamedTuple):
    """What is indexed."""

    title: str = ""
    description: str = ""
    headings: tuple[str, ...] = ()
    text: str = ""  # the main text, one block on each line
    language: str = ""  # primary subtag in lower case, such as `pt`; empty when unknown
    canonical_url: str | None = None  # where the page says that its content is at home
    published_seconds: float | None = None  # since the Unix epoch
    modified_seconds: float | None = None
    signature: int = 0  # 64 bits of all the text; 0 for no text
    similarity: int = 0  # 64 bits that are close for texts that are alike; 0 for no text


class Extract(NamedTuple):
    """Everything that one page says and where it leads."""

    url: str
    format: Format
    encoding: str = ""  # WHATWG name of what the body was read as; empty when it was not read
    base_url: str = ""  # what relative hrefs were resolved against
    document: Document = Document()
    links: Links = Links()
    listed: Listing = Listing()
    robots: tuple[tuple[str, str], ...] = ()  # name and content of each meta element that speaks to robots


class Options(NamedTuple):
    images: bool = False  # img, srcset
    robots_name: str = "tarrafa"  # our name in meta elements, beside `robots` and `tdm-…`
