"""Hooks of a user: what they change, which fields can be stored, and what happens when they fail."""

import logging
from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tarrafa.agent import DecodedPage, HookedPage, ParsedPage
from tarrafa.errors import InputError, WorkError
from tarrafa.extract import Cut, extract
from tarrafa.keep import DOCUMENTS, DocumentRow
from tarrafa.keep.row_writers import document_table, field_columns
from tarrafa.library.crawled_page import CrawledPage, FoundUrl
from tarrafa.library.hook_runner import FIELDS_LIMIT, ITEMS_LIMIT, TEXT_CHARS, FieldTypes, HookRunner
from tarrafa.library.hooks import Hooks, load_hooks
from tarrafa.records import Page

URL = "http://shop.example/nets/one.html?size=2"
BODY = (
    b"<title>A net</title><p>A net for fishing costs <span class=price>12 <b>\n50</b></span>"
    b"<a href=/two>two</a> <a href=three>three</a> <a href=/two>again</a>"
)


def received(body: bytes = BODY) -> tuple[DecodedPage, ParsedPage]:
    page = Page(URL, 200, (("Content-Type", "text/html; charset=utf-8"),), body, at=5.0)
    return DecodedPage(page, body, len(body), truncated=False), ParsedPage(page, extract(page, body), len(body))


def runner(*page_hooks: Callable[[CrawledPage], object], is_strict: bool = False, **types: type) -> HookRunner:
    hooks = Hooks()
    for hook in page_hooks:
        hooks.on_page(hook)
    return HookRunner(hooks, types, is_strict)


def changed(*page_hooks: Callable[[CrawledPage], object]) -> HookedPage:
    return runner(*page_hooks).change(*received(), 3)


def targets(hooked: HookedPage) -> list[str]:
    return [link.target.removeprefix("http://shop.example") for link in hooked.parsed.extract.links]


# Pages.


def test_hook_sees_the_page_as_it_was_fetched() -> None:
    seen: list[CrawledPage] = []
    changed(seen.append)
    (page,) = seen
    assert (page.url, page.url.path, page.url.query, page.url.site) == (
        URL,
        "/nets/one.html",
        "size=2",
        "shop.example",
    )
    assert (page.title, page.status, page.depth, page.media_type, page.fetched_at) == (
        "A net",
        200,
        3,
        "text/html",
        5.0,
    )
    assert page.text.startswith("A net for fishing")
    assert page.document.title == "A net"
    assert page.body == BODY
    assert page.html == BODY.decode()
    assert page.header("content-TYPE") == "text/html; charset=utf-8"
    assert "[two](http://shop.example/two)" in page.markdown
    assert [link.text for link in page.links] == ["two", "three", "again"]


def test_elements_are_selected_by_css() -> None:
    page = CrawledPage(*received(), 0)
    price = page.select("span.price")
    assert (price.text(), price.tag, price.attributes) == ("12 50", "span", {"class": "price"})
    assert (price.attribute("class"), price.attribute("id", "none")) == ("price", "none")
    assert price.select("b").text() == "50"
    assert [each.text() for each in page.select_all("a")] == ["two", "three", "again"]
    assert "<b>" in price.html


def test_selector_without_a_match_gives_an_empty_element() -> None:
    found = CrawledPage(*received(), 0).select("span.missing")
    assert not found
    assert (found.text(), found.html, found.tag, found.attributes, found.select_all("a")) == ("", "", "", {}, [])
    assert not found.select("b")


def test_selector_that_is_none_is_an_error() -> None:
    with pytest.raises(InputError, match="not a CSS selector"):
        CrawledPage(*received(), 0).select("a[")


def test_fields_links_and_drop_are_what_the_hooks_leave() -> None:
    def change(page: CrawledPage) -> None:
        page.fields["price"] = page.select("span.price").text()
        assert "three" in page.links
        assert page.links.remove("/two") == 2
        assert page.links.add("four?a=[]", "the fourth") == "http://shop.example/nets/four?a=%5B%5D"

    hooked = changed(change)
    assert hooked.fields == {"price": "12 50"}
    assert targets(hooked) == ["/nets/three", "/nets/four?a=%5B%5D"]
    assert not hooked.is_dropped
    assert targets(changed(lambda page: page.links.clear())) == []
    assert targets(changed(lambda page: page.links.keep(lambda link: link.text == "two"))) == ["/two"]
    assert len(targets(changed())) == 3


def test_dropped_page_is_not_shown_to_later_hooks() -> None:
    seen: list[CrawledPage] = []
    assert changed(lambda page: page.drop(), seen.append).is_dropped
    assert seen == []


def test_page_that_is_stored_can_only_be_read() -> None:
    seen: list[CrawledPage] = []
    changed(seen.append)
    (page,) = seen
    assert dict(page.fields) == {}
    for change in (lambda: page.links.add("/x"), page.links.clear, page.drop):
        with pytest.raises(InputError, match="stored already"):
            change()
    with pytest.raises(TypeError):
        page.fields["price"] = 1


# Fields.


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("text", "text"),
        (3, 3),
        (2.5, 2.5),
        (True, True),
        (["a", "b"], ("a", "b")),
        ([], ()),
        (datetime(2026, 3, 1, 10, tzinfo=UTC), datetime(2026, 3, 1, 10, tzinfo=UTC)),
        (datetime(2026, 3, 1, 10), datetime(2026, 3, 1, 10, tzinfo=UTC)),
        (date(2026, 3, 1), datetime(2026, 3, 1, tzinfo=UTC)),
        (datetime(2026, 3, 1, 10, tzinfo=timezone(timedelta(hours=-3))), datetime(2026, 3, 1, 13, tzinfo=UTC)),
        (None, None),
        ("", None),
    ],
)
def test_field_takes_python_values(given: object, stored: object) -> None:
    assert FieldTypes({}).checked("name", given) == stored


def test_type_of_the_first_value_counts() -> None:
    types = FieldTypes({"old": float})
    assert types.checked("old", 3) == 3.0
    assert types.checked("price", None) is None
    assert types.checked("price", 2) == 2
    assert types.checked("price", 4.0) == 4
    for wrong in (2.5, "3", True, ["3"]):
        with pytest.raises(InputError, match=r'"price" holds values of type int'):
            types.checked("price", wrong)
    assert types.checked("names", ["a"]) == ("a",)
    assert types.checked("names", "b") == ("b",)


@pytest.mark.parametrize("name", ["", "two words", "9lives", "a" * 64, "naïve", "a.b"])
def test_name_that_no_column_can_have_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="not the name of a field"):
        FieldTypes({}).checked(name, 1)


@pytest.mark.parametrize("name", DOCUMENTS.columns.names)
def test_name_of_a_column_of_documents_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="give the field another name"):
        FieldTypes({}).checked(name, 1)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**63, {"a": 1}, b"bytes", [1], object()])
def test_value_that_cannot_be_stored_is_refused(value: object) -> None:
    with pytest.raises(InputError, match='"name"'):
        FieldTypes({}).checked("name", value)


def test_number_of_fields_is_bounded() -> None:
    types = FieldTypes({f"f{number}": int for number in range(FIELDS_LIMIT)})
    assert types.checked("f0", 1) == 1
    with pytest.raises(InputError, match="one too many"):
        types.checked("more", 1)


def test_long_fields_are_cut_and_the_page_says_so() -> None:
    def fill(page: CrawledPage) -> None:
        page.fields["long"] = "x" * (TEXT_CHARS - 10)
        page.fields["more"] = "y" * 20
        page.fields["list"] = ["a"] * (ITEMS_LIMIT + 1)

    hooked = changed(fill)
    assert len(str(hooked.fields["more"])) == 10
    assert hooked.fields["list"] == ()
    assert hooked.parsed.cuts == (Cut.FIELDS,)
    assert changed(lambda page: page.fields.update(short="x")).parsed.cuts == ()


PLAIN = st.one_of(
    *(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.lists(st.text(max_size=3))),
    *(
        st.dates(),
        st.datetimes(),
        st.binary(max_size=3),
        st.dictionaries(st.text(max_size=2), st.integers(), max_size=2),
    ),
)


@example([{"b": 0}, {"b": 2.0**63}])
@given(st.lists(st.dictionaries(st.sampled_from(["a", "b", "c", "not valid", "url"]), PLAIN), max_size=8))
def test_whatever_hooks_give_becomes_columns(pages: list[dict[str, Any]]) -> None:
    """Values that cannot be stored are errors of the hook; all others fit into the column of their field."""
    waiting = iter(pages)
    hooks = runner(lambda page: page.fields.update(next(waiting)))
    rows = [DocumentRow(URL, 1.0, "fetched", 200, fields=hooks.change(*received(), 0).fields) for _ in pages]
    if rows:
        table = document_table(rows, field_columns(rows))
        assert table.num_rows == len(pages)
        assert set(table.column_names) <= {*DOCUMENTS.columns.names, "a", "b", "c"}


# Failures.


def broken(page: CrawledPage) -> None:
    page.fields["before"] = 1
    raise ValueError("no price\nhere")


def test_hook_that_raises_is_counted_and_logged_with_the_url(caplog: pytest.LogCaptureFixture) -> None:
    hooks = runner(broken, lambda page: page.fields.update(after=2))
    with caplog.at_level(logging.WARNING, "tarrafa"):
        hooked = hooks.change(*received(), 0)
    assert hooked.fields == {"before": 1, "after": 2}
    assert hooks.take_counts() == {"hook errors": 1}
    assert hooks.take_counts() == {}
    (record,) = caplog.records
    assert record.getMessage() == "hook failed"
    fields = vars(record)["fields"]
    assert (fields["url"], fields["hook"]) == (URL, "broken")
    assert fields["reason"].startswith("line ")
    assert fields["reason"].endswith("ValueError: no price\\nhere")


def test_hook_that_fails_for_each_url_is_logged_ten_times_and_counted_each_time(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def one(url: FoundUrl) -> bool:
        raise ValueError(url)

    both = Hooks()
    both.on_url(one)
    both.on_page(broken)
    hooks = HookRunner(both, {})
    with caplog.at_level(logging.WARNING, "tarrafa"):
        assert not any(hooks.admits(f"{URL}?{number}") for number in range(30))
        hooks.change(*received(), 0)
    assert hooks.take_counts() == {"hook errors": 31}
    assert Counter(vars(record)["fields"]["hook"] for record in caplog.records) == {"one": 10, "broken": 1}


def test_field_that_cannot_be_stored_is_counted_and_the_others_are_kept() -> None:
    hooks = runner(lambda page: page.fields.update(good=1, bad={}, url="x"))
    assert hooks.change(*received(), 0).fields == {"good": 1}
    assert hooks.take_counts() == {"hook errors": 2}


@pytest.mark.parametrize("hook", [broken, lambda page: page.fields.update(bad=object())])
def test_strict_hooks_stop_the_crawl(hook: Callable[[CrawledPage], object]) -> None:
    with pytest.raises(WorkError, match=r"the hook .* failed for http://shop.example/nets/one.html"):
        runner(hook, is_strict=True).change(*received(), 0)


def admitting(hook: Callable[[FoundUrl], Any], is_strict: bool = False) -> HookRunner:
    hooks = Hooks()
    hooks.on_url(lambda url: True)
    hooks.on_url(hook)
    return HookRunner(hooks, {}, is_strict)


def test_url_is_admitted_by_all_hooks_or_not_at_all() -> None:
    hooks = admitting(lambda url: "/private/" not in url.path and url.name == "a.example" and url.host[:4] == "http")
    assert hooks.admits("http://a.example/x")
    assert not hooks.admits("http://a.example/private/x")
    assert not hooks.admits("http://b.example/x")


@pytest.mark.parametrize("hook", [lambda url: None, lambda url: url.missing])
def test_url_whose_hook_fails_or_gives_no_answer_is_not_visited(hook: Callable[[FoundUrl], Any]) -> None:
    hooks = admitting(hook)
    assert not hooks.admits("http://a.example/x")
    assert hooks.take_counts() == {"hook errors": 1}
    with pytest.raises(WorkError):
        admitting(hook, is_strict=True).admits("http://a.example/x")


def test_asynchronous_function_is_refused_as_a_hook() -> None:
    async def wrong(page: CrawledPage) -> None: ...

    with pytest.raises(InputError, match="plain function"):
        Hooks().on_page(wrong)


# Files.


def loaded(folder: Path, text: str) -> Hooks:
    file = folder / "my-hooks.py"
    file.write_text(text)
    return load_hooks(file)


def test_file_has_hooks_by_name_or_by_decorator(tmp_path: Path) -> None:
    named = loaded(tmp_path, "def on_page(page): ...\ndef on_url(url): return True\n")
    assert (len(named.page_hooks), len(named.url_hooks)) == (1, 1)
    text = """
import tarrafa
crawl = tarrafa.Crawl("a.example", dir="crawl")
same = crawl

@crawl.on_page
def on_page(page): ...

more = tarrafa.Hooks()

@more.on_url
def choose(url): return True

if __name__ == "__main__":
    crawl.run()
"""
    decorated = loaded(tmp_path, text)
    assert (len(decorated.page_hooks), len(decorated.url_hooks)) == (1, 1)


def test_file_may_import_a_module_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", ["/nowhere"])
    (tmp_path / "beside_the_hooks.py").write_text("def on_page(page): ...\n")
    assert loaded(tmp_path, "from beside_the_hooks import on_page\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n", "has no hook; define a function on_page"),
        ("def on_page(page)\n", "line 1: SyntaxError"),
        ("x = 1\nraise ValueError('why')\n", "line 2: ValueError: why; correct the file"),
        ("async def on_page(page): ...\n", "plain function"),
    ],
)
def test_file_that_cannot_be_used_is_an_input_error(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        loaded(tmp_path, text)


def test_file_that_is_missing_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a file"):
        load_hooks(tmp_path / "missing.py")
