"""VEUNIQ on fingerprints: the engine of production.

The repository is divided into blocks by ranges of host hashes. A cycle verifies one block, the one with most
waiting, in one sequential pass over sorted fingerprints; URLs of other blocks are set aside in one file. A block
that grows too large is split.

    engine      the cycle, the commit, what can be asked
    change      a block verified, and its files written
    block       what a cycle does to a block, without files
    scheduling  which of a host's URLs are to be fetched next
    split       a block becomes two
    spill       URLs that wait for their block
    texts       URLs as a column
    shelf       blocks and spills on the disk
    tables      their Parquet files
    disk        files that are either whole or not there
    read        what can be asked
    check       every invariant on disk

Not done here: keeping the text of a URL in memory, or writing it twice.
"""

from tarrafa.verify.veuniq.change import RepositoryBounds
from tarrafa.verify.veuniq.engine import Veuniq, counts_of, look_up

__all__ = ["RepositoryBounds", "Veuniq", "counts_of", "look_up"]
