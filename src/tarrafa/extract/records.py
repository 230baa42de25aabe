"""What extraction finds: frozen records without any reference to the parsed page, so that they go between processes."""

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import Any, ClassVar, NamedTuple, TypeVar, overload

T = TypeVar("T")
Row = TypeVar("Row", covariant=True)


class Cut(StrEnum):
    """A part of a page of which something was left out, because it is beyond a bound."""

    BODY = "body"  # its end was not received, or not read
    LINKS = "links"
    LISTED = "listed"  # URLs of a sitemap or feed
    TEXT = "text"
    TITLE = "title"
    DESCRIPTION = "description"
    HEADINGS = "headings"
    FIELDS = "fields"  # that a hook has added


class PageFormat(StrEnum):
    HTML = "html"
    SITEMAP = "sitemap"
    FEED = "feed"
    TEXT = "text"
    OTHER = "other"  # nothing is read from it: images, PDF, unknown XML, and answers without a body


class LinkKind(StrEnum):
    """The place where an href stood."""

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
    """A link from the page to `target`. Positions count from 0, links of the HTTP header first."""

    target: str
    text: str = ""
    rel: str = ""  # in lower case, words separated by one space
    kind: LinkKind = LinkKind.A
    position: int = 0


class ListedUrl(NamedTuple):
    """A URL that a sitemap or a feed lists."""

    url: str
    title: str = ""
    modified_seconds: float | None = None  # since the Unix epoch
    priority: float | None = None
    is_sitemap: bool = False  # a further sitemap, named by a sitemap index


class _ColumnSequence(Sequence[Row]):
    """A sequence of records stored by column: cheap to make, to pass on whole and to pickle."""

    __slots__ = ()
    _make_row: ClassVar[Callable[..., Any]]

    @property
    def columns(self) -> tuple[Sequence[Any], ...]:
        """Return one sequence for each field of a record, all equally long."""
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self.columns[0])

    def __iter__(self) -> Iterator[Row]:
        return map(self._make_row, *self.columns)

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Row, ...]: ...
    def __getitem__(self, at: int | slice) -> Row | tuple[Row, ...]:
        return tuple(self)[at]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ColumnSequence) and self.columns == other.columns

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(tuple(self))


class PageLinks(_ColumnSequence[Link]):
    """The links of a page, in document order."""

    __slots__ = ("kinds", "rels", "targets", "texts")
    _make_row = Link

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

    def __add__(self, after: "PageLinks") -> "PageLinks":
        return PageLinks(
            self.targets + after.targets, self.texts + after.texts, self.rels + after.rels, self.kinds + after.kinds
        )


class ListedUrls(_ColumnSequence[ListedUrl]):
    """The URLs that a sitemap or a feed lists, in its order. A column in which every value is the default is empty."""

    __slots__ = ("are_sitemaps", "is_cut", "modified_seconds", "priorities", "titles", "urls")
    _make_row = ListedUrl

    def __init__(
        self,
        urls: tuple[str, ...] = (),
        titles: tuple[str, ...] = (),
        modified_seconds: tuple[float | None, ...] = (),
        priorities: tuple[float | None, ...] = (),
        are_sitemaps: tuple[bool, ...] = (),
        is_cut: bool = False,
    ) -> None:
        self.is_cut = is_cut  # more are listed than are here
        self.urls = urls
        self.titles = _drop_defaults(titles, "")
        self.modified_seconds = _drop_defaults(modified_seconds, None)
        self.priorities = _drop_defaults(priorities, None)
        self.are_sitemaps = _drop_defaults(are_sitemaps, False)

    def bare(self) -> "ListedUrls":
        """Return the URLs, their dates and whether each is a sitemap, without titles and priorities."""
        return ListedUrls(self.urls, (), self.modified_seconds, (), self.are_sitemaps, self.is_cut)

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


def _drop_defaults(column: tuple[T, ...], default: T) -> tuple[T, ...]:
    return () if column.count(default) == len(column) else column


class Document(NamedTuple):
    """The part of a page that is indexed."""

    title: str = ""
    description: str = ""
    headings: tuple[str, ...] = ()
    text: str = ""  # the main text, one block on each line
    language: str = ""  # primary subtag in lower case, such as `pt`; empty when unknown
    canonical_url: str | None = None  # the page's own claim of where its content belongs
    published_seconds: float | None = None  # since the Unix epoch
    modified_seconds: float | None = None
    signature: int = 0  # 64 bits of all the text; 0 for no text
    similarity: int = 0  # 64 bits of which near-duplicates share most; 0 for no text


class Extract(NamedTuple):
    """Everything that one page says and links to."""

    url: str
    format: PageFormat
    encoding: str = ""  # WHATWG name of the body's encoding; empty when the body was not read
    base_url: str = ""  # relative hrefs were resolved against this
    document: Document = Document()
    links: PageLinks = PageLinks()
    listed: ListedUrls = ListedUrls()
    robots: tuple[tuple[str, str], ...] = ()  # name and content of each meta element for robots
    cuts: tuple[Cut, ...] = ()  # what was left out, each once


class ExtractOptions(NamedTuple):
    images: bool = False  # also return img and srcset as links
    robots_name: str = "tarrafa"  # our name in meta elements, beside `robots` and `tdm-…`
