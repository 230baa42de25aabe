"""A process that answers questions about a collection, one after the other, until nobody can ask it any more.

Run as `python -m tarrafa.serve.answering`; `processes` starts it and asks.
"""

import contextlib
import socket
import sys
from pathlib import Path
from typing import Any

from tarrafa.clock import SystemClock
from tarrafa.memory import collect_seldom
from tarrafa.serve.messages import Messages
from tarrafa.serve.searching import Collection

READY = "ready"


def answer_all(messages: Messages, collection: Collection) -> None:
    """A question is the name of a method and what it is given; the answer is what it returns, or raises."""
    messages.send(READY)
    while True:
        name, given = messages.receive()
        messages.send(_answer(collection, name, given))


def _answer(collection: Collection, name: str, given: tuple[Any, ...]) -> tuple[Any, Exception | None]:
    try:
        return getattr(collection, name)(*given), None
    except Exception as error:  # noqa: BLE001 - whoever asked gets it
        return None, error


def main() -> None:
    messages = Messages(socket.socket(fileno=int(sys.argv[1])))
    # Who asks has ended, in whatever way.
    with contextlib.suppress(EOFError, ConnectionError):
        collection = Collection(Path(sys.argv[2]), SystemClock())
        # Opened before the first question, so that nobody waits for it.
        _ = collection.documents_count
        collect_seldom()
        answer_all(messages, collection)


if __name__ == "__main__":
    main()
