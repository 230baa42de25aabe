"""Connections of the search page: how many there are, which are closed to make room, and how long they may last."""

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from urllib.parse import urlsplit

from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Receive, Scope, Send

from tarrafa.serve import ConnectionLimits, SearchServer, listen
from tarrafa.serve.connections import Admission, ConnectionTable

HANG_SECONDS = 600.0  # what takes longer never ends
EVENTS = st.lists(st.tuples(st.sampled_from(["open", "answer", "wait", "close"]), st.integers(0, 3), st.integers(0, 9)))


@given(EVENTS)
def test_connections_are_bounded_and_those_being_answered_stay(events: list[tuple[str, int, int]]) -> None:
    """Guarantees 1, 2 and 4."""
    limits = ConnectionLimits(total=6, per_client=3)
    table: ConnectionTable[int] = ConnectionTable(limits)
    opened: dict[int, int] = {}  # to its client
    answered: set[int] = set()
    for number, (kind, client, choice) in enumerate(events):
        chosen = sorted(opened)[choice % len(opened)] if opened else -1
        if kind == "open":
            admission = table.admit(number, str(client))
            if admission.closed is not None:
                assert admission.closed not in answered
                del opened[admission.closed]
            if admission.is_admitted:
                opened[number] = client
            else:
                own = {each for each, owner in opened.items() if owner == client}
                assert own <= answered if len(own) == limits.per_client else set(opened) <= answered
        elif kind == "answer":
            table.answer(chosen)
            answered |= {chosen} & set(opened)
        elif kind == "wait":
            table.wait(chosen)
            answered.discard(chosen)
        else:
            table.remove(chosen)
            opened.pop(chosen, None)
            answered.discard(chosen)
        assert len(table) == len(opened) <= limits.total
        assert all(list(opened.values()).count(each) <= limits.per_client for each in opened.values())


def test_connection_that_has_waited_longest_makes_room() -> None:
    """Guarantee 3."""
    table: ConnectionTable[str] = ConnectionTable(ConnectionLimits(total=5, per_client=3))
    for name in ("a1", "a2", "a3", "b1", "b2"):
        assert table.admit(name, name[0]) == Admission(is_admitted=True)
    table.answer("a1")
    table.wait("a1")  # so a2 has waited longest
    assert table.admit("a4", "a").closed == "a2"
    assert table.admit("b3", "b").closed == "a3"
    assert table.admit("c1", "c").closed == "b1"


@contextmanager
def serving(
    limits: ConnectionLimits, response_bytes: int = 5, ended: threading.Event | None = None
) -> Iterator[tuple[str, int]]:
    """A server of plain responses; the place to connect to."""

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            for word in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{word}.complete"})
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(max(1, response_bytes >> 16)):
            await send({"type": "http.response.body", "body": b"x" * min(response_bytes, 1 << 16), "more_body": True})
        await send({"type": "http.response.body", "body": b""})
        if ended is not None:
            ended.set()

    server = SearchServer(application, listen("127.0.0.1", 0), limits)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield "127.0.0.1", urlsplit(server.url).port or 0
    finally:
        server.stop()
        thread.join()


def is_closed_by_server(connection: socket.socket) -> bool:
    """Wait for it."""
    try:
        while connection.recv(1 << 16):
            pass
    except ConnectionError:
        pass
    return True


HURRIED = ConnectionLimits(request_seconds=0.05, send_seconds=0.05)


def test_connection_that_never_completes_a_request_is_closed() -> None:
    """Also after a first request, and in the middle of the body of one that was answered already."""
    for sent in (
        b"",
        b"GET / HT",
        b"GET / HTTP/1.1\r\nHost: a\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n1",
    ):
        with serving(HURRIED) as place, closing(socket.create_connection(place)) as connection:
            connection.sendall(sent)
            assert is_closed_by_server(connection)


def test_bytes_that_trickle_do_not_extend_the_time() -> None:
    with serving(HURRIED) as place, closing(socket.create_connection(place)) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nX: ")
        is_open = True
        while is_open:
            try:
                connection.sendall(b"x")
                connection.settimeout(0.01)
                is_open = connection.recv(1) != b""
            except TimeoutError:
                pass
            except ConnectionError:
                is_open = False


def test_client_that_does_not_read_its_response_is_closed() -> None:
    """Without it the response would never end, and the connection would count as answered for ever."""
    ended = threading.Event()
    with (
        serving(HURRIED, response_bytes=1 << 26, ended=ended) as place,
        closing(socket.create_connection(place)) as connection,
    ):
        connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert ended.wait(HANG_SECONDS)


def test_new_client_is_refused_when_all_connections_are_being_answered() -> None:
    limits = ConnectionLimits(total=1, send_seconds=600)
    with serving(limits, response_bytes=1 << 26) as place, closing(socket.create_connection(place)) as busy:
        busy.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert busy.recv(1)
        with closing(socket.create_connection(place)) as other:
            answer = b"".join(iter(lambda: other.recv(1 << 16), b""))
    assert answer.startswith(b"HTTP/1.1 503")
    assert b"retry-after: 5" in answer
