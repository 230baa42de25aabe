"""VEUNIQ on fingerprints: the engine of production.

The repository is divided into blocks by ranges of host hashes. A cycle verifies one block, the one with most
waiting, in one sequential pass over sorted fingerprints; URLs of other blocks are set aside in one file. A block
that grows too large is split.

    engine    the cycle, the commit, what can be asked
    block     what a cycle does to a block, without files
    split     a block becomes two
    spill     URLs that wait for their block
    shelf     blocks and spills on the disk
    tables    their Parquet files
    disk      files that are either whole or not there

Not done here: keeping the text of a URL in memory, or writing it twice.
"""

from tarrafa.verify.veuniq.engine import Veuniq

__all__ = ["Veuniq"]
