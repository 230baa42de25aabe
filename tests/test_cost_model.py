"""Equations 1 to 3 of the VEUNIQ paper, against its own table."""

import pytest

from tarrafa.lab.experiment.cost_model import (
    GIBI,
    GIGA,
    MEMORIES,
    PRINTED_BLOCKS,
    URLS,
    ModelCosts,
    ModelParameters,
    blocks_at,
    drum_buckets,
    drum_disk_bytes,
    drum_overhead,
    drum_written_bytes,
    format_overhead,
    table,
    veuniq_overhead,
)

GIVEN = ModelParameters()


def named(cell: ModelCosts) -> str:
    return f"{cell.urls / GIGA:g} Gb, {cell.memory_bytes // GIBI} GB"


@pytest.mark.parametrize("cell", table(), ids=named)
def test_table_2_comes_out_to_its_printed_digits(cell: ModelCosts) -> None:
    assert format_overhead(cell.drum) == cell.printed_drum
    assert format_overhead(cell.veuniq) == cell.printed_veuniq


def test_table_2_has_forty_cells() -> None:
    assert len(table()) * 2 == 40


HEADS = list(zip(MEMORIES, (2097, 4194, 8388, 16777), (22, 89, 354, 1417), strict=True))


@pytest.mark.parametrize(("memory", "buckets", "terabytes"), HEADS)
def test_the_heads_of_the_columns_come_out(memory: int, buckets: int, terabytes: int) -> None:
    assert int(drum_buckets(memory, GIVEN)) == buckets
    assert round(drum_disk_bytes(memory, GIVEN) / 1e12) == terabytes


@pytest.mark.parametrize("row", range(len(URLS)))
def test_the_column_of_blocks_comes_out_for_two_gigabytes(row: int) -> None:
    assert round(blocks_at(row, MEMORIES[0], GIVEN)) == PRINTED_BLOCKS[row]


def test_equation_1_is_equation_2_for_the_buckets_that_the_disk_holds() -> None:
    """D bytes of disk hold k·r·(H + b)/H bytes of keys and URLs: put into equation 1, equation 2 comes out."""
    memory = MEMORIES[1]
    disk = drum_disk_bytes(memory, GIVEN)
    keys_bytes = disk * GIVEN.hash_bytes / (GIVEN.hash_bytes + GIVEN.url_bytes)
    by_first = drum_written_bytes(URLS[3], 1, keys_bytes, GIVEN) / (URLS[3] * GIVEN.url_bytes)
    assert by_first == pytest.approx(drum_overhead(URLS[3], memory, disk, GIVEN))


def test_equation_2_is_continuous_where_the_limit_changes_from_memory_to_disk() -> None:
    memory = MEMORIES[0]
    disk = drum_disk_bytes(memory, GIVEN)
    assert drum_overhead(URLS[2], memory, disk * 1.000001, GIVEN) == pytest.approx(
        drum_overhead(URLS[2], memory, disk * 0.999999, GIVEN), rel=1e-5
    )


def test_less_disk_costs_drum_more() -> None:
    disk = drum_disk_bytes(MEMORIES[0], GIVEN)
    assert drum_overhead(URLS[2], MEMORIES[0], disk / 10, GIVEN) > drum_overhead(URLS[2], MEMORIES[0], disk, GIVEN)


def test_equation_3_is_the_sum_over_the_cycles_that_it_comes_from() -> None:
    urls, memory, blocks = 4000 * GIGA, 2 * GIBI, 100
    p, b, beta = GIVEN.fresh_share, GIVEN.url_bytes, GIVEN.other_block_share
    cycles = round(urls / blocks * (b + GIVEN.pointer_bytes) / memory)
    known_bytes = GIVEN.known_urls / blocks * b
    costs = (p * memory + 2 * (known_bytes + (c - 1) * p * memory) + 2 * beta * memory for c in range(1, cycles + 1))
    summed = blocks * sum(costs) / (urls * b)
    assert veuniq_overhead(urls, memory, blocks, GIVEN) == pytest.approx(summed, rel=1e-3)


def test_more_blocks_cost_veuniq_less_down_to_what_is_set_aside() -> None:
    overheads = [veuniq_overhead(URLS[2], MEMORIES[0], blocks, GIVEN) for blocks in (10, 100, 1000, 10**9)]
    assert overheads == sorted(overheads, reverse=True)
    floor = 2 * GIVEN.other_block_share * (GIVEN.url_bytes + GIVEN.pointer_bytes) / GIVEN.url_bytes
    assert overheads[-1] == pytest.approx(floor, rel=1e-3)
