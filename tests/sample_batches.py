"""Small batches for tests of VEUNIQ: hosts and pages in common, some collected again, some before their time."""

import random

import numpy as np

from tarrafa.verify import Batch, Collected, Extracted


def batches(seed: int, count: int, size: int = 200) -> list[Batch]:
    chance = random.Random(seed)
    return [_batch(number, chance, size) for number in range(count)]


def _url(chance: random.Random) -> str:
    host, page = int(chance.random() ** 2 * 40), int(chance.random() ** 2 * 60)
    return f"http://h{host}.example/" if page == 0 else f"https://h{host}.example:8443/p/{'x' * (page % 40)}?n={page}"


def _batch(number: int, chance: random.Random, size: int) -> Batch:
    collected = [_url(chance) for _ in range(size // 9)]
    extracted = [_url(chance) for _ in range(size)]
    count, news = len(collected), np.random.default_rng(number)
    return Batch(
        number,
        Collected(
            collected,
            np.array([1e9 + number * 1000 + place for place in range(count)]),
            np.array([chance.choice((200, 301, 404)) for _ in range(count)], np.uint16),
            np.full(count, number, np.uint32),
            np.arange(count, dtype=np.uint64) * 1000,
            news.integers(0, 3, count, np.uint8),
            news.integers(0, 2**64, count, np.uint64),
            news.integers(0, 2**64, count, np.uint64),
            news.choice(np.array([np.nan, 10, 10_000], np.float32), count),
            news.choice(np.array([np.nan, 7_200], np.float32), count),
        ),
        Extracted(
            extracted,
            np.array([chance.randrange(50) for _ in extracted], np.uint16),
            np.array([chance.randrange(1, 4) for _ in extracted], np.uint16),
            np.array([chance.randrange(0, 2) for _ in extracted], np.uint16),
            np.array([chance.randrange(100_000) for _ in extracted], np.uint32),
            np.array([chance.randrange(0, 2) for _ in extracted], np.uint8),
            # Some batches have no weights.
            np.array([random.Random(url).choice((0, 7, 2**31)) for url in extracted] if number % 3 else [], np.uint32),
        ),
    )
