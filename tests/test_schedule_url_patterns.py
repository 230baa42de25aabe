"""Patterns of URLs: what they tell apart, and what they take together."""

from hypothesis import given
from hypothesis import strategies as st

from tarrafa.schedule.url_patterns import VALUES_LIMIT, VARIED_VALUES, PatternMaker, parameters_count, shape

HOST = "http://a.example"


def test_patterns_go_from_fine_to_coarse() -> None:
    fine, middle, query, coarse = PatternMaker().patterns(f"{HOST}/loja/2024/sapato-12?num=41&cor=azul")
    assert fine == "/loja/#/sapato-#?cor=azul&num=#"
    assert middle == "/loja/#/*?cor=azul&num=#"
    assert query == "…?cor=azul&num=#"
    assert coarse == "/loja/…?…"


def test_identifier_in_a_query_counts_for_any_path() -> None:
    assert PatternMaker().patterns(f"{HOST}/loja/12?sid=92d8ff4c") == ("…?sid=~", "", "", "/loja/…?…")
    assert PatternMaker().patterns(f"{HOST}/loja/92d8ff4c").fine == "/loja/~"


def test_months_of_a_calendar_have_one_pattern() -> None:
    made = {PatternMaker().patterns(f"{HOST}/calendario/{year}/{month}") for year in (1999, 2026) for month in (1, 12)}
    assert len(made) == 1


def test_folder_and_page_differ() -> None:
    maker = PatternMaker()
    assert maker.patterns(f"{HOST}/a/b/") == ("/a/b/", "/a/*/", "", "/a/…")
    assert maker.patterns(f"{HOST}/a/b") == ("/a/b", "/a/*", "", "/a/…")
    assert maker.patterns(f"{HOST}/") == ("/", "/", "", "/…")


def test_value_of_a_parameter_counts_while_it_has_few() -> None:
    maker = PatternMaker()
    for number in range(VALUES_LIMIT + 1):
        maker.learn(f"{HOST}/w?title=Page{chr(65 + number)}&action={'edit' if number % 2 else 'history'}")
    assert maker.patterns(f"{HOST}/w?title=New&action=edit").fine == "/w?action=edit&title"
    assert maker.wild == ["title"]
    other = PatternMaker()
    other.forget_values(maker.wild)
    assert other.patterns(f"{HOST}/w?title=New&action=edit").fine == "/w?action=edit&title"


def test_order_and_repetition_of_parameters_do_not_matter() -> None:
    maker = PatternMaker()
    assert maker.patterns(f"{HOST}/w?b=2&a=1") == maker.patterns(f"{HOST}/w?a=1;b=1&b=3")


def test_shapes() -> None:
    assert [shape(text) for text in ("edit", "page-12", "2024", "92d8ff4c", "1b4e28ba-2fa1-11d2-883f", "x" * 41)] == [
        *("edit", "page-#", "#", "~", "~", "*")
    ]


def test_parameters_are_counted() -> None:
    urls = (f"{HOST}/", f"{HOST}/?a", f"{HOST}/?a=1&b", f"{HOST}/?C=N;O=D")
    assert [parameters_count(url) for url in urls] == [0, 1, 2, 2]


def test_identifiers_are_taken_out_of_a_query_only() -> None:
    maker = PatternMaker()
    url = f"{HOST}/92d8ff4c?sid=92d8ff4c&n=12345678"
    assert maker.without_identifiers(url) == f"{HOST}/92d8ff4c?sid=~&n=12345678"
    assert maker.without_identifiers(f"{HOST}/a") == f"{HOST}/a"


def test_identifier_of_digits_only_is_known_by_others_of_its_parameter() -> None:
    maker = PatternMaker()
    maker.learn(f"{HOST}/?sid=92d8ff4c")
    assert maker.without_identifiers(f"{HOST}/?sid=12345678") == f"{HOST}/?sid=~"
    assert maker.patterns(f"{HOST}/?sid=12345678") == maker.patterns(f"{HOST}/?sid=92d8ff4c")


@given(st.lists(st.text("ab/?&;=#~0é%", max_size=60), max_size=30))
def test_any_url_has_patterns_of_bounded_length(tails: list[str]) -> None:
    maker = PatternMaker()
    for tail in tails:
        maker.learn(f"{HOST}/{tail}")
        assert maker.patterns(f"{HOST}/{tail}") == maker.patterns(f"{HOST}/{tail}")
        assert all(len(pattern) < 2_000 for pattern in maker.patterns(f"{HOST}/{tail}"))


def test_parameter_that_each_visit_has_another_value_of_is_known_soon() -> None:
    maker = PatternMaker()
    for number in range(VARIED_VALUES):
        maker.learn(f"{HOST}/w?id={chr(65 + number)}&do={'raw' if number % 2 else 'html'}")
    assert maker.wild == ["id"]


def test_parameter_with_values_that_come_again_is_told_apart() -> None:
    maker = PatternMaker()
    for number in range(200):
        maker.learn(f"{HOST}/w?kind={chr(65 + number % VARIED_VALUES // 2)}&colour={chr(65 + number // 10)}")
    assert maker.wild == []


def test_kind_has_the_names_of_parameters_or_the_folder() -> None:
    maker = PatternMaker()
    assert (
        maker.kind(f"{HOST}/w?title=A&action=edit")
        == maker.kind(f"{HOST}/v/w?action=history&title=B")
        == "…?action&title"
    )
    assert maker.kind(f"{HOST}/tag/red/blue") == maker.kind(f"{HOST}/tag/red/green") == "/tag/red/*"


def test_value_that_is_a_path_counts_by_its_first_segment() -> None:
    maker = PatternMaker()
    for number in range(VALUES_LIMIT + 1):
        maker.learn(f"{HOST}/w?title=Page{chr(65 + number)}")
    assert maker.patterns(f"{HOST}/w?title=Links/PageA").fine == "/w?title/=Links"
    assert maker.patterns(f"{HOST}/w?title=Links%2fPageB").fine == "/w?title/=Links"
    assert maker.patterns(f"{HOST}/w?title=/PageB").fine == maker.patterns(f"{HOST}/w?title=PageB").fine == "/w?title"
