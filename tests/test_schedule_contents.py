"""What makes a page a copy of what its host has said before."""

from hypothesis import given
from hypothesis import strategies as st

from tarrafa.schedule import PageText, SeenContents

HOST = "http://a.example"
STORY = "Once upon a time there was a host.\nIt had many pages, and each of them said something.\nThe end of it all."


def page(text: str = STORY, title: str = "A story", *, is_indexed: bool = True) -> PageText:
    return PageText(hash((title, text)), title, text, is_indexed)


def test_signature_that_is_known_is_a_copy() -> None:
    seen = SeenContents()
    assert seen.is_new(f"{HOST}/a", page())
    assert not seen.is_new(f"{HOST}/b", page())


def test_page_that_differs_in_numbers_only_is_a_copy() -> None:
    seen = SeenContents()
    assert seen.is_new(f"{HOST}/2026/1", page("No events in 2026-01.", "1 / 2026"))
    assert not seen.is_new(f"{HOST}/2031/12", page("No events in 2031-12.", "12 / 2031"))


def test_title_that_only_shows_the_path_makes_no_difference() -> None:
    seen = SeenContents()
    assert seen.is_new(f"{HOST}/eco/", page("Mais:", "/eco/"))
    assert not seen.is_new(f"{HOST}/eco/eco/", page("Mais:", "/eco/eco/"))


def test_pages_of_one_template_with_a_plain_path_are_new() -> None:
    """As in the documentation of Rust: hundreds of pages say only that a feature has a tracking issue."""
    seen = SeenContents()
    template = "The tracking issue for this feature is: #29594\n" + STORY
    assert all(seen.is_new(f"{HOST}/features/{name}", page(template, name)) for name in ("asm", "box", "core"))


def test_page_with_fewer_parameters_is_new_though_its_copy_was_visited_first() -> None:
    seen = SeenContents()
    assert seen.is_new(f"{HOST}/a?sid=92d8ff4c", page())
    assert not seen.is_new(f"{HOST}/a?sid=11d8ff4c", page())
    assert seen.is_new(f"{HOST}/a", page())
    assert not seen.is_new(f"{HOST}/a", page())


def test_sort_order_of_a_listing_is_a_copy() -> None:
    seen = SeenContents()
    names = [f"file named {letter}.txt of some size" for letter in "abcdefgh"]
    seen.has_variants = True
    assert seen.is_new(f"{HOST}/files/", page("\n".join(names)))
    assert not seen.is_new(f"{HOST}/files/?C=N;O=D", page("\n".join(reversed(names))))


def test_form_around_known_text_is_a_copy() -> None:
    seen = SeenContents()
    form = "Edit this page\nSummary of changes\nSave the page"
    assert seen.is_new(f"{HOST}/w?id=first", page())
    assert seen.is_new(f"{HOST}/w?id=first&do=edit", page(f"{form}\n{STORY}", "Edit first"))
    assert seen.is_new(f"{HOST}/w?id=second", page(STORY.replace("host", "page").replace("many", "some") + "\nOr not?"))
    assert not seen.is_new(f"{HOST}/w?id=second&do=edit", page(f"{form}\n{STORY}", "Edit second"))


def test_page_that_is_not_to_be_indexed_must_say_more_than_a_title() -> None:
    seen = SeenContents()
    for name, is_new in (("Sun", True), ("Moon", False), ("Mars", False)):
        links = page(
            "Pages that link to this page, without any that link to it:", f"What links {name}", is_indexed=False
        )
        assert seen.is_new(f"{HOST}/Special:Links/{name}", links) is is_new


def test_page_of_a_catalogue_with_a_little_text_of_its_own_is_new() -> None:
    seen = SeenContents()
    around = "Delivery within days, to any place.\nReturns are free of charge."
    for name in ("red chair of oak", "blue table of steel", "green lamp of glass"):
        assert seen.is_new(f"{HOST}/item?id={len(name)}", page(f"{name} for your home\n{around}", name))


@given(st.lists(st.tuples(st.text("ab", max_size=3), st.text("ab?&=", max_size=4))))
def test_memory_is_bounded_and_the_same_page_is_never_new_twice_in_a_row(pages: list[tuple[str, str]]) -> None:
    seen = SeenContents(limit=10)
    for text, tail in pages:
        seen.is_new(f"{HOST}/{tail}", PageText(len(text), text, text))
        assert not seen.is_new(f"{HOST}/{tail}", PageText(len(text), text, text))
        assert len(seen) <= 10


def test_oldest_contents_are_forgotten_first_and_the_newest_are_known() -> None:
    seen = SeenContents(limit=80)
    names = [f"{'abcdefghij'[n // 10]}-{'abcdefghij'[n % 10]}" for n in range(100)]
    for name in names:
        assert seen.is_new_signature(f"{HOST}/{name}", page(name))
    assert not any(seen.is_new_signature(f"{HOST}/again", page(name)) for name in names[-60:])
    assert seen.is_new_signature(f"{HOST}/again", page(names[0]))
