"""A user's own class of order: whatever it does wrong ends the crawl with a message that names it."""

from typing import Any

import numpy as np
import pytest

from tarrafa.errors import InputError, WorkError
from tarrafa.schedule import OwnOrder, QueuedHost, WeightKind
from tarrafa.verify import UrlColumns

HOST = QueuedHost("http://a.example", 3, 2, 0.5, 7.0)
URL = "http://a.example/page"
NO_URLS = UrlColumns(*[np.empty(0, np.uint32)] * 6)  # type: ignore[arg-type]


class Answering:
    """An order that answers everything with one value, or raises it."""

    weight: Any = WeightKind.NONE

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def _answered(self, *_: object) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    priority = url_keys = host_key = _answered


def own(answer: Any) -> OwnOrder:
    return OwnOrder(Answering(answer), "mine:Answering")


@pytest.mark.parametrize("answer", [1, 65_535, np.int64(7), True])
def test_numbers_are_passed_on(answer: Any) -> None:
    assert own(answer).priority(URL) == int(answer)
    assert own(answer).host_key(HOST) == float(answer)
    assert own(answer).weight is WeightKind.NONE


@pytest.mark.parametrize("answer", [0, -1, 65_536, 1.5, None, "1"])
def test_priority_that_cannot_be_stored_is_told(answer: Any) -> None:
    with pytest.raises(WorkError, match=r'"mine:Answering" returned ".*" as its priority for http://a.example/page'):
        own(answer).priority(URL)


@pytest.mark.parametrize("answer", [None, "first", float("nan"), [1]])
def test_key_of_a_host_that_is_no_number_is_told(answer: Any) -> None:
    with pytest.raises(WorkError, match=r"as its host_key for http://a.example, not a number"):
        own(answer).host_key(HOST)


def test_what_it_raises_is_told_with_the_method() -> None:
    failing = own(KeyError("no such \x1b thing"))
    for call, ask in (
        ("priority for http://a.example/page", lambda: failing.priority(URL)),
        ("url_keys", lambda: failing.url_keys(NO_URLS)),
        ("host_key for http://a.example", lambda: failing.host_key(HOST)),
    ):
        with pytest.raises(WorkError) as told:
            ask()
        assert f'"mine:Answering" failed in {call}: KeyError' in str(told.value)
        assert "\x1b" not in str(told.value)


def test_weight_of_another_type_is_refused() -> None:
    wrong = Answering(1)
    wrong.weight = "rank"
    with pytest.raises(InputError, match="must be a WeightKind"):
        OwnOrder(wrong, "mine:Answering")
