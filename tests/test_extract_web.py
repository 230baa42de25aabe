"""The made-up web, read by the extractor: what it finds is what is true, and copies are recognised."""

from functools import lru_cache
from random import Random

import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.extract import NEAR_BITS, Extract, LinkKind, extract, extract_all
from tarrafa.extract.signatures import fold, sign, similarity
from tarrafa.lab.web import Plan, SyntheticWeb, Truth, TruthRow, parse_faults
from tarrafa.lab.web.plan import SyntheticHost
from tarrafa.records import Page
from webs import body_of, followed, get, pages_of, read_page

PLANS = [
    Plan(hosts=6, pages=70, rng_seed=2),
    Plan(hosts=3, pages=40, rng_seed=9, names=True, faults=parse_faults("hostile")),
]


@lru_cache(maxsize=2)
def extracts(plan: Plan) -> dict[str, tuple[Page, Extract]]:
    web = SyntheticWeb(plan)
    pages = [get(web, host, number) for host, number in pages_of(web)]
    return {page.url: (page, extract(page, body_of(page))) for page in pages}


@lru_cache(maxsize=2)
def rows(plan: Plan) -> dict[str, TruthRow]:
    return {row.url: row for row in Truth(SyntheticWeb(plan)).rows() if row.kind == "page"}


@pytest.fixture(params=PLANS, ids=["plain", "hostile"])
def plan(request: pytest.FixtureRequest) -> Plan:
    assert isinstance(request.param, Plan)
    return request.param


def test_pages_that_are_read_together_say_what_they_say_alone(plan: Plan) -> None:
    """Also where some of them are no HTML."""
    (first, *pages), others = [page for page, _ in extracts(plan).values()], ("text/plain", "image/png", "text/xml")
    odd = [first._replace(headers=(("Content-Type", other),), body=b"http://a.example/ text") for other in others]
    sources = [(page, body_of(page)) for page in (odd[0], first, *odd[1:], *pages, odd[0])]
    assert extract_all(sources) == [extract(page, body) for page, body in sources]
    assert extract_all([]) == []


def says_nofollow(found: Extract) -> bool:
    return any("nofollow" in content for name, content in found.robots if name == "robots")


def test_links_are_those_of_a_plain_reader(plan: Plan) -> None:
    for page, found in extracts(plan).values():
        anchors = [link for link in found.links if link.kind is LinkKind.A]
        free = [link.target for link in anchors if "nofollow" not in link.rel.split()]
        assert (free if not says_nofollow(found) else []) == followed(page)
        assert len(anchors) == len(read_page(page).links)


def test_document_is_what_the_truth_says(plan: Plan) -> None:
    for url, (page, found) in extracts(plan).items():
        row, document = rows(plan)[url], found.document
        assert (document.title, document.language, document.canonical_url) == (row.title, row.language, row.canonical)
        assert says_nofollow(found) == row.nofollow
        assert document.headings == tuple(" ".join(text.split()) for text in read_page(page).headings)
        assert found.encoding == {"iso-8859-1": "windows-1252"}.get(row.charset or "", row.charset)


def test_main_text_holds_every_paragraph(plan: Plan) -> None:
    for page, found in extracts(plan).values():
        lines = set(found.document.text.split("\n"))
        assert {" ".join(text.split()) for text in read_page(page).text} <= lines


def test_main_text_leaves_lists_of_links_out(plan: Plan) -> None:
    for _, found in extracts(plan).values():
        heads = {found.document.title, *found.document.headings}
        menus = {link.text for link in found.links} - heads
        assert menus.isdisjoint(found.document.text.split("\n"))


# Copies.


def test_copies_share_their_signature_and_no_other_pages_do(plan: Plan) -> None:
    by_signature: dict[int, set[str]] = {}
    for url, (_, found) in extracts(plan).items():
        by_signature.setdefault(found.document.signature, set()).add(rows(plan)[url].copy_of or url)
    assert all(len(originals) == 1 for originals in by_signature.values())
    assert len(by_signature) < len(extracts(plan)) or not any(row.copy_of for row in rows(plan).values())


def distance(one: Extract, other: Extract) -> int:
    return (one.document.similarity ^ other.document.similarity).bit_count()


def read(web: SyntheticWeb, host: SyntheticHost, number: int) -> Extract:
    page = get(web, host, number)
    return extract(page, body_of(page))


def test_near_copies_are_near() -> None:
    """Another passage in place of one, of four to nine, and other links: a tenth to a quarter of the text."""
    web = SyntheticWeb(Plan(hosts=40, pages=3000, rng_seed=4))
    copies = [(host, number, web.pages.copy_of(host, number)) for host, number in pages_of(web)]
    pairs = [(host, number, source) for host, number, source in copies if source and not source.exact]
    bits = [distance(read(web, host, number), read(web, source.host, source.page)) for host, number, source in pairs]
    assert len(bits) >= 20
    assert sum(distance <= NEAR_BITS for distance in bits) >= 0.9 * len(bits)


def test_other_pages_are_not_near() -> None:
    """Pages about one topic draw their passages from one pool, so that a few share some of them."""
    web = SyntheticWeb(Plan(hosts=40, pages=3000, rng_seed=4))
    found = [read(web, host, number) for host, number in Random(1).sample(list(pages_of(web)), 150)]
    bits = [distance(one, other) for at, one in enumerate(found) for other in found[:at]]
    assert sum(distance <= NEAR_BITS for distance in bits) <= 0.001 * len(bits)


# Likeness.

TEXT = "A Ação do Município: São Paulo, 10 de março. " * 3


def test_signature_sees_neither_accents_nor_case_nor_spacing() -> None:
    assert sign("A Ação: café!", "")[0] == sign("a  ACAO cafe\n", "")[0] == sign("a acao cafe\u0301", "")[0]
    assert sign("a acao", "")[0] != sign("a acao b", "")[0]
    assert sign("日本語 текст", "")[0] not in (0, sign("日本 текст", "")[0])


def test_values_that_are_stored_stay() -> None:
    assert [f"{value:016x}" for value in sign(TEXT, "Início")] == ["192d6fcad4fc62c1", "3f5dbd22a6cd25c0"]
    assert [f"{value:016x}" for value in sign("Жизнь — это движение. ‘Ελλάδα’ 中文 ½ \U0001f600 x", "")] == [
        "a8591e37363b5a02",
        "93deeef3d5285195",
    ]
    assert sign("", "") == (0, 0)


@given(st.text(), st.text())
def test_signatures_of_any_texts_have_64_bits(main: str, rest: str) -> None:
    assert all(0 <= value < 1 << 64 for value in sign(main, rest))


@given(st.text())
def test_folding_is_idempotent(text: str) -> None:
    folded = fold(text)
    assert fold(folded.decode()) == folded


@given(st.text(st.characters(max_codepoint=255)))
def test_texts_of_the_west_are_folded_like_all_others(text: str) -> None:
    """The dash is no sign of theirs, so that the whole text is folded by the larger table."""
    assert fold(text) + b" " == fold(f"{text}\u2014")


def test_one_changed_word_in_a_long_text_moves_few_bits() -> None:
    words = [f"w{Random(number).randrange(500)}" for number in range(600)]
    changed = [*words[:300], "other", *words[301:]]
    assert (similarity(fold(" ".join(words))) ^ similarity(fold(" ".join(changed)))).bit_count() <= 3


FOLDED = st.text(st.sampled_from("aZé .,\n9ø\u0301\u4e2d\ud800\U0001f600"), max_size=40)


@given(FOLDED, FOLDED)
def test_signature_is_that_of_all_letters_and_digits_in_turn(main: str, rest: str) -> None:
    letters = (fold(main) + fold(rest)).replace(b" ", b"")
    assert sign(main, rest)[0] == (xxhash.xxh3_64_intdigest(letters) if letters else 0)


@given(FOLDED, FOLDED)
def test_similarity_is_that_of_the_main_text_or_else_of_both(main: str, rest: str) -> None:
    first, second = fold(main), fold(rest)
    assert sign(main, rest)[1] == (similarity(first) or similarity(first + b" " + second))
    assert bool(similarity(first)) <= (len(first.split()) >= 3)


def test_word_alone_says_nothing_and_three_words_do() -> None:
    assert similarity(b"one two") == 0
    assert similarity(b"one two three") != 0
