import hashlib
import struct
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.chance import WORD_MAX, Chance, draws


def test_draws_are_these_on_every_machine_and_in_every_version() -> None:
    assert draws("tarrafa", 4) == (4126532416, 4035393842, 3470227962, 2598618876)
    assert draws("", 2) == (2754321535, 2105708520)
    assert draws("São Paulo", 1) == (4155149173,)


def test_draws_are_shake_128_in_little_endian_words() -> None:
    assert draws("seed", 3) == struct.unpack("<3I", hashlib.shake_128(b"seed").digest(12))


def test_more_draws_begin_with_the_fewer() -> None:
    assert draws("seed", 100)[:7] == draws("seed", 7)
    assert draws("seed", 0) == ()


def test_stream_is_these_numbers_beyond_its_first_batch() -> None:
    chance = Chance("tarrafa")
    words = [chance.word() for _ in range(130)]
    assert words[0] == draws("tarrafa/0", 64)[0]
    assert words[63:66] == [draws("tarrafa/0", 64)[63], *draws("tarrafa/1", 2)]
    assert hashlib.sha256(repr(words).encode()).hexdigest()[:16] == "dac07ebd6d67f4fd"


def test_streams_of_two_seeds_differ() -> None:
    assert [Chance("a").word() for _ in range(3)] != [Chance("b").word() for _ in range(3)]


@given(st.text(max_size=20), st.integers(1, 10**12))
def test_below_stays_below_its_limit(seed: str, limit: int) -> None:
    chance = Chance(seed)
    assert all(0 <= chance.below(limit) < limit for _ in range(70))


def test_below_one_is_zero() -> None:
    assert Chance("x").below(1) == 0


@pytest.mark.parametrize("limit", [2, 7, 10])
def test_below_and_pick_are_roughly_even(limit: int) -> None:
    chance = Chance(f"even {limit}")
    counts = Counter(chance.below(limit) for _ in range(10_000))
    picked = Counter(chance.pick(range(limit)) for _ in range(10_000))
    for found in (counts, picked):
        assert set(found) == set(range(limit))
        assert max(found.values()) < 1.1 * 10_000 / limit
        assert min(found.values()) > 0.9 * 10_000 / limit


def test_happens_as_often_as_its_share_says() -> None:
    chance = Chance("share")
    assert 2_400 < sum(chance.happens(0.25) for _ in range(10_000)) < 2_600
    assert not any(chance.happens(0.0) for _ in range(1_000))
    assert all(chance.happens(1.0) for _ in range(1_000))


def test_words_fill_their_32_bits() -> None:
    words = draws("bits", 10_000)
    assert max(words) < WORD_MAX
    for bit in range(32):
        assert 4_700 < sum(word >> bit & 1 for word in words) < 5_300
