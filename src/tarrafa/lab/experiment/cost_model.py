"""The cost of verifying URLs in bytes read and written: equations 1 to 3 of the VEUNIQ paper, and its Table 2.

The unit is the overhead α: how many times the bytes of the URLs under verification are read or written. The paper does
not state all assumptions of its table; these reproduce it to the digit:

- a gigabyte of memory is 2**30 bytes, a giga-URL is 10**9;
- β, the share of URLs that belong to another block, is 0.3 (the text says about 0.2);
- N starts at DRUM's k for the same memory, in every column, and is multiplied by 1 + ln(n / 3 Gb) at each row from 30
  on: the column N shows the values for 2 GB alone, and the text says that N grows with ln(n);
- the figures were rounded twice, to three digits and then to two.
"""

import math
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

GIGA = 10**9
GIBI = 2**30

# The rows and columns of Table 2, and its printed values.
URLS = (GIGA * 3 // 10, 3 * GIGA, 30 * GIGA, 300 * GIGA, 3000 * GIGA)
MEMORIES = (2 * GIBI, 4 * GIBI, 8 * GIBI, 16 * GIBI)
PRINTED_BLOCKS = (2_097, 2_097, 6_926, 38_822, 306_991)
PRINTED_DRUM = (
    ("2.26", "2.26", "2.26", "2.26"),
    ("2.26", "2.26", "2.26", "2.26"),
    ("2.26", "2.26", "2.26", "2.26"),
    ("2.27", "2.26", "2.26", "2.26"),
    ("2.39", "2.29", "2.27", "2.26"),
)
PRINTED_VEUNIQ = (
    ("0.67", "0.64", "0.63", "0.62"),
    ("0.68", "0.64", "0.63", "0.62"),
    ("0.66", "0.63", "0.62", "0.62"),
    ("0.67", "0.63", "0.63", "0.62"),
    ("0.68", "0.64", "0.63", "0.62"),
)


@dataclass(frozen=True, slots=True)
class ModelParameters:
    """Table 1 of the paper, with the values of section 6.1 and the paper's letters."""

    fresh_share: float = 1 / 9  # p
    known_urls: int = GIGA  # U
    url_bytes: int = 110  # b
    pointer_bytes: int = 4  # P
    hash_bytes: int = 8  # H
    file_buffer_bytes: int = 256_000  # M
    other_block_share: float = 0.3  # β


@dataclass(frozen=True, slots=True)
class ModelCosts:
    """A cell of Table 2 for DRUM and one for VEUNIQ, with the printed values."""

    urls: int
    memory_bytes: int
    blocks: float
    drum: float
    veuniq: float
    printed_drum: str
    printed_veuniq: str

    @property
    def agree(self) -> bool:
        return (format_overhead(self.drum), format_overhead(self.veuniq)) == (self.printed_drum, self.printed_veuniq)


def drum_buckets(memory_bytes: int, given: ModelParameters) -> float:
    """Return k: the number of buckets whose buffers fit in memory."""
    return memory_bytes / (4 * given.file_buffer_bytes)


def drum_disk_bytes(memory_bytes: int, given: ModelParameters) -> float:
    """Return D: the disk space of the buckets when none is wasted."""
    per_key = given.hash_bytes + given.pointer_bytes
    return memory_bytes**2 * (given.hash_bytes + given.url_bytes) / (8 * given.file_buffer_bytes * per_key)


def drum_written_bytes(urls: int, buckets: float, bucket_bytes: float, given: ModelParameters) -> float:
    """Return w of equation 1: the central file is read and written once each time the buckets have filled."""
    p, known, b, size = given.fresh_share, given.known_urls, given.url_bytes, given.hash_bytes
    passes = (2 * known * size + p * size * urls) * size / (b * buckets * bucket_bytes)
    return urls * b * (passes + 2 + p + 2 * size / b)


def drum_overhead(urls: int, memory_bytes: int, disk_bytes: float, given: ModelParameters) -> float:
    """Return α of equation 2, limited by memory or by the disk for the buckets."""
    p, b, size, pointer = given.fresh_share, given.url_bytes, given.hash_bytes, given.pointer_bytes
    moved = 2 * given.known_urls * size + p * size * urls
    if memory_bytes**2 < 8 * given.file_buffer_bytes * disk_bytes * (size + pointer) / (size + b):
        passes = 8 * given.file_buffer_bytes * (size + pointer) * moved / (b * memory_bytes**2)
    else:
        passes = (size + b) * moved / (b * disk_bytes)
    return passes + 2 + p + 2 * size / b


def veuniq_overhead(urls: int, memory_bytes: int, blocks: float, given: ModelParameters) -> float:
    """Return α of equation 3: a cycle reads and writes one block of N, and defers the URLs of the others."""
    p, b, pointer, beta = given.fresh_share, given.url_bytes, given.pointer_bytes, given.other_block_share
    merged = urls * p * (b + pointer) + 2 * b * given.known_urls
    return (b + pointer) * (merged + 2 * blocks * memory_bytes * beta) / (b * blocks * memory_bytes)


def blocks_at(row: int, memory_bytes: int, given: ModelParameters) -> float:
    """Return N at a row of Table 2."""
    blocks = drum_buckets(memory_bytes, given)
    for urls in URLS[2 : row + 1]:
        blocks *= 1 + math.log(urls / (3 * GIGA))
    return blocks


def table(given: ModelParameters | None = None) -> list[ModelCosts]:
    """Return the twenty cells of Table 2, row by row."""
    given = given or ModelParameters()
    return [_cell(row, column, given) for row in range(len(URLS)) for column in range(len(MEMORIES))]


def _cell(row: int, column: int, given: ModelParameters) -> ModelCosts:
    urls, memory_bytes = URLS[row], MEMORIES[column]
    blocks = blocks_at(row, memory_bytes, given)
    return ModelCosts(
        urls=urls,
        memory_bytes=memory_bytes,
        blocks=blocks,
        drum=drum_overhead(urls, memory_bytes, drum_disk_bytes(memory_bytes, given), given),
        veuniq=veuniq_overhead(urls, memory_bytes, blocks, given),
        printed_drum=PRINTED_DRUM[row][column],
        printed_veuniq=PRINTED_VEUNIQ[row][column],
    )


def format_overhead(overhead: float) -> str:
    """Format an overhead as the paper does: rounded to three digits, then to two."""
    thousandths = Decimal(overhead).quantize(Decimal("0.001"), ROUND_HALF_UP)
    return str(thousandths.quantize(Decimal("0.01"), ROUND_HALF_UP))
