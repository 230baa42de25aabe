"""What the agent asks of hooks, answered by functions of a user.

1. A hook that raises is counted and logged with the URL, and the crawl goes on: the other hooks are called, and what
   the hook did before it raised holds. A URL whose hook raises is not visited. If hooks are strict, the crawl stops.
   The first errors of each hook are logged, and all are counted: a hook of URLs may fail for each of millions.
2. All values of a field have the type of its first one; a value that cannot have it is an error of the hook and is not
   stored. `None` and an empty text are no value.
3. What hooks add to a page is bounded. A text beyond the bound is cut, which counts as a cut of the page.
"""

import logging
import re
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from typing import Protocol

from tarrafa.agent import CrawlFolder, DecodedPage, HookedPage, ParsedPage, checkpoint_of
from tarrafa.errors import InputError, WorkError
from tarrafa.extract import Cut
from tarrafa.keep import DOCUMENTS, FieldValue, field_types
from tarrafa.library.crawled_page import CrawledPage, FoundUrl, close_page
from tarrafa.library.hooks import Hooks, described
from tarrafa.logs import event
from tarrafa.texts import cut, quoted

FIELDS_LIMIT = 100  # fields of a crawl
TEXT_CHARS = 100_000  # of all fields of a page
ITEMS_LIMIT = 1_000  # texts of one field
LOGGED_ERRORS = 10  # of each hook, and of fields, in a run
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_INTEGER_LIMIT = 1 << 63
_ERRORS = "hook errors"  # the total

_log = logging.getLogger("tarrafa.hooks")


class PageConsumer(Protocol):
    """Takes the pages of a crawl; `PageStream` does."""

    def put(self, page: CrawledPage) -> None: ...

    async def has_room(self) -> None: ...


class HookRunner:
    """Fulfils `CrawlHooks`. Belongs to one run of a crawl."""

    def __init__(
        self, hooks: Hooks, types: Mapping[str, type], is_strict: bool = False, consumer: PageConsumer | None = None
    ) -> None:
        """`types` are those of the fields that the crawl has already."""
        self._hooks = hooks
        self._types = FieldTypes(types)
        self._is_strict = is_strict
        self._consumer = consumer
        # Filled by failing hooks, emptied by take_counts.
        self._counts: Counter[str] = Counter()
        # Errors that were logged, by the identity of the hook: a callable object may have no hash.
        self._logged: Counter[int] = Counter()

    def admits(self, url: str) -> bool:
        found = FoundUrl(url)
        return all(self._admits(hook, found) for hook in self._hooks.url_hooks)

    def _admits(self, hook: Callable[[FoundUrl], bool], url: FoundUrl) -> bool:
        try:
            verdict: object = hook(url)
            if verdict is None:
                raise InputError("returned None; a hook of URLs returns True or False")
            return bool(verdict)
        except Exception as error:  # noqa: BLE001 - a function of the user may raise anything
            self._failed(hook, url, error)
            return False

    def change(self, decoded: DecodedPage, parsed: ParsedPage, depth: int) -> HookedPage:
        page = CrawledPage(decoded, parsed, depth)
        for hook in self._hooks.page_hooks:
            try:
                hook(page)
            except Exception as error:  # noqa: BLE001 - a function of the user may raise anything
                self._failed(hook, page.url, error)
            if page.is_dropped:
                break
        fields, is_cut = self._fields_of(page)
        hooked = close_page(page, fields)
        if is_cut:
            cuts = tuple(dict.fromkeys((*parsed.cuts, Cut.FIELDS)))
            hooked = hooked._replace(parsed=hooked.parsed._replace(cuts=cuts))
        if self._consumer is not None and not page.is_dropped:
            self._consumer.put(page)
        return hooked

    def _fields_of(self, page: CrawledPage) -> tuple[dict[str, FieldValue], bool]:
        """Return the fields that can be stored, and whether one was cut."""
        found: dict[str, FieldValue] = {}
        room_chars = TEXT_CHARS
        is_cut = False
        for name, value in page.fields.items():
            try:
                checked = self._types.checked(name, value)
            except InputError as error:
                self._failed(None, page.url, error)
                continue
            if checked is not None:
                found[name], is_long = _shortened(checked, room_chars)
                room_chars -= _chars(found[name])
                is_cut = is_cut or is_long
        return found, is_cut

    def _failed(self, hook: Callable[..., object] | None, url: str, error: Exception) -> None:
        self._counts[_ERRORS] += 1
        name = getattr(hook, "__name__", "") if hook is not None else "fields"
        reason = described(error, getattr(getattr(hook, "__code__", None), "co_filename", ""))
        if self._logged[id(hook)] < LOGGED_ERRORS:
            self._logged[id(hook)] += 1
            event(_log, "hook failed", logging.WARNING, url=url, hook=name, reason=reason)
        if self._is_strict:
            raise WorkError(f"the hook {name} failed for {url}: {reason}; correct it, then run again") from error

    def take_counts(self) -> Mapping[str, int]:
        taken, self._counts = self._counts, Counter()
        return taken

    async def caught_up(self) -> None:
        if self._consumer is not None:
            await self._consumer.has_room()


def make_runner(hooks: Hooks, folder: CrawlFolder, is_strict: bool, consumer: PageConsumer | None = None) -> HookRunner:
    """Return the hooks of a run, with the fields that the crawl has already."""
    types = field_types(folder.documents, checkpoint_of(folder.hosts).number) if folder.exists() else {}
    return HookRunner(hooks, types, is_strict, consumer)


class FieldTypes:
    """The types of the fields of a crawl: that of the first value of each."""

    def __init__(self, known: Mapping[str, type]) -> None:
        self._known = dict(known)  # tuple stands for a list of texts

    def checked(self, name: object, value: object) -> FieldValue | None:
        """Return a value as it is stored; None if there is none. Raise InputError if it cannot be stored."""
        self._check_name(name)
        assert isinstance(name, str)
        plain = _plain(name, value)
        if plain is None:
            return None
        kind = self._known.get(name)
        if kind is None:
            if len(self._known) >= FIELDS_LIMIT:
                raise InputError(f"the field {quoted(name)} is one too many; a crawl has {FIELDS_LIMIT} at most")
            self._known[name] = type(plain)
            return plain
        return _as(kind, name, plain)

    def _check_name(self, name: object) -> None:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise InputError(f"{quoted(str(name))} is not the name of a field; use letters, digits and _, at most 63")
        if name in DOCUMENTS.columns.names:
            raise InputError(f"documents have a column {quoted(name)} already; give the field another name")


def _plain(name: str, value: object) -> FieldValue | None:
    """Return a value of one of the types that fields have."""
    if isinstance(value, bool | int | float):
        return _number(name, value)
    if isinstance(value, str):
        return str(value) or None
    if isinstance(value, datetime):
        # Made anew, because it may be of a subclass.
        return datetime.combine(value.date(), value.timetz() if value.tzinfo else value.time().replace(tzinfo=UTC))
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
        return tuple(str(each) for each in value)
    if value is None:
        return None
    raise InputError(f"the field {quoted(name)} cannot hold a {type(value).__name__}; {_ALLOWED}")


_ALLOWED = "give a text, a number, a boolean, a date, a datetime or a list of texts"


def _number(name: str, value: bool | float) -> bool | int | float:
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        if not -_INTEGER_LIMIT <= value < _INTEGER_LIMIT:
            raise InputError(
                f"the field {quoted(name)} holds whole numbers of 64 bits; {cut(str(value), 30)} is larger"
            )
        return int(value)
    if value != value or abs(value) == float("inf"):
        raise InputError(f"the field {quoted(name)} holds finite numbers, not {value}")
    return float(value)


def _as(kind: type, name: str, value: FieldValue) -> FieldValue:
    """Return a value in the type of its field, if nothing is lost."""
    if type(value) is kind or (isinstance(value, datetime) and kind is datetime):
        return value
    if kind is float and type(value) is int:
        return float(value)
    if kind is int and isinstance(value, float) and value.is_integer() and abs(value) < _INTEGER_LIMIT:
        return int(value)
    if kind is tuple and isinstance(value, str):
        return (value,)
    word = "list of texts" if kind is tuple else kind.__name__
    raise InputError(
        f"the field {quoted(name)} holds values of type {word}, as its first one; {quoted(str(value))} is not"
    )


def _chars(value: FieldValue) -> int:
    return sum(map(len, value)) if isinstance(value, tuple) else len(value) if isinstance(value, str) else 0


def _shortened(value: FieldValue, room_chars: int) -> tuple[FieldValue, bool]:
    """Cut a text or a list of texts to the room that is left; return it and whether anything was cut."""
    if isinstance(value, str):
        return value[:room_chars], len(value) > room_chars
    if not isinstance(value, tuple):
        return value, False
    kept: list[str] = []
    for text in value[:ITEMS_LIMIT]:
        if len(text) > room_chars:
            break
        room_chars -= len(text)
        kept.append(text)
    return tuple(kept), len(kept) < len(value)
