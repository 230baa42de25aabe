"""Words put into templates, addresses written once, messages between processes: what they make is the same."""

import itertools
import re
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import escape

from tarrafa.search import SearchRequest
from tarrafa.serve.languages import LANGUAGES, TEXTS, Words
from tarrafa.serve.messages import Messages
from tarrafa.serve.showing import _environment, pages_addresses, with_query

ENVIRONMENTS = {code: _environment(Words(code), "mark") for code in LANGUAGES}
SHOWN = st.text(max_size=20) | st.sampled_from(["<b>&amp;'\"", "{{ 1 }}", "{count}", "%s"])


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize("key", TEXTS)
def test_every_text_is_shown_as_it_is_said(key: str, code: str) -> None:
    values = {name: f"<{name}> & 'co' {{{name}}}" for name in re.findall(r"{(\w+)}", TEXTS[key][0])}
    source = f'-{{{{ say("{key}"{"".join(f", {name}={name}" for name in values)}) }}}}-'
    shown = ENVIRONMENTS[code].from_string(source).render(values)
    assert shown == f"-{escape(Words(code).say(key, **values))}-"


@given(SHOWN)
def test_what_stands_between_the_words_is_escaped(site: str) -> None:
    template = ENVIRONMENTS["en"].from_string('{{ say("more_of_site", site=site) }}')
    assert template.render(site=site) == f"More of {escape(site)}"


def test_text_that_depends_on_the_page_is_looked_up_when_it_is_made() -> None:
    source = '{{ say("outcome_" ~ name) }}, {{ title or say("untitled") }}, {{ say("rank", rank=2 | number(1)) }}'
    shown = ENVIRONMENTS["pt"].from_string(source).render(name="gone", title="")
    assert shown == "não existe mais, Página sem título, Relevância 2,0"


@given(
    st.text(min_size=1, max_size=20),
    st.none() | st.text(min_size=1, max_size=20),
    st.none() | st.sampled_from(["2026", "2026-05-17"]),
    st.booleans(),
    st.sampled_from(["", "pt"]),
    st.integers(1, 100),
)
def test_pages_of_results_have_the_address_of_their_parameters(
    text: str, site: str | None, after: str | None, fresh: bool, lang: str, number: int
) -> None:
    address = pages_addresses(SearchRequest(text, site=site, after=after, fresh=fresh), lang)(number)
    page = number if number > 1 else ""
    assert address == with_query("/search", q=text, page=page, site=site, after=after, fresh=fresh, lang=lang)


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


@pytest.mark.parametrize("value", [None, ("search", (SearchRequest("a", page=2),)), "x" * 3_000_000])
def test_message_arrives_as_it_was_sent(ends: tuple[socket.socket, socket.socket], value: object) -> None:
    ours, theirs = map(Messages, ends)
    with ThreadPoolExecutor(1) as other:
        for each in (value, "next"):
            other.submit(ours.send, each)
        assert theirs.receive() == value
        assert theirs.receive() == "next"


def test_message_that_comes_in_pieces_is_put_together(ends: tuple[socket.socket, socket.socket]) -> None:
    """As when the other process is stopped while it writes."""
    ours, theirs = ends
    Messages(ours).send(["pieces"])
    whole = theirs.recv(1_000)
    with ThreadPoolExecutor(1) as other:
        read = other.submit(Messages(theirs).receive)
        for first, last in itertools.pairwise([0, 1, 3, 5, len(whole)]):
            ours.sendall(whole[first:last])
        assert read.result() == ["pieces"]


@pytest.mark.parametrize("length", [0, 2, 9])
def test_message_that_is_cut_is_none(ends: tuple[socket.socket, socket.socket], length: int) -> None:
    ours, theirs = ends
    Messages(ours).send(["pieces"])
    whole = theirs.recv(1_000)
    ours.sendall(whole[:length])
    Messages(ours).close()
    with pytest.raises(EOFError):
        Messages(theirs).receive()
