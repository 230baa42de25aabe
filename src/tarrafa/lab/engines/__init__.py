"""The uniqueness engines that the papers compare, behind the contract of `verify`.

In: a folder and a name. Out: a `UniquenessEngine` that keeps the same guarantees as production's, at another cost.

    memory        a dictionary, with a journal
    veuniq        the engine of production
    veuniq-text   VEUNIQ as printed: blocks of sorted text
    drum          buckets that are merged with one sorted file (IRLbot)
    central       one sorted text, rewritten in each cycle
    files         a file for each host
    sqlite        a B-tree database (Pinkerton)
    lmdb          a B-tree in memory-mapped pages
    rocksdb       a log-structured merge tree
    mercator-a    a cache of popular URLs before the disk
    mercator-b    a sorted buffer merged with a sorted file; Polybot too

What they share:

    offers         the distinct URLs of a batch, and the four sets that a cycle tells apart
    key_value      the repository over a key-value store: memory, sqlite, lmdb, rocksdb, mercator-a
    sorted_text    files of sorted text: central, veuniq-text, files
    merge_engines  the repository over a `sorted_file` of fingerprints: drum, mercator-b
    engine_folder  the folder with its manifest, the checksummed records of its files, the list of hosts

Not done here: finding the best URLs of a block, splitting blocks. Only production's engine does that.
"""

from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import cast

from tarrafa.errors import InputError
from tarrafa.verify.contract import UniquenessEngine

# Module and class of each engine. A module is imported when its engine is opened, because some need optional packages.
ENGINES: dict[str, tuple[str, str]] = {
    "memory": ("tarrafa.lab.engines.memory_engine", "JournalRepository"),
    "veuniq": ("tarrafa.verify.veuniq", "Veuniq"),
    "veuniq-text": ("tarrafa.lab.engines.veuniq_text", "VeuniqText"),
    "drum": ("tarrafa.lab.engines.drum", "DrumRepository"),
    "central": ("tarrafa.lab.engines.sorted_text", "CentralRepository"),
    "files": ("tarrafa.lab.engines.host_files", "HostFiles"),
    "sqlite": ("tarrafa.lab.engines.sqlite_engine", "SqliteRepository"),
    "lmdb": ("tarrafa.lab.engines.lmdb_engines", "LmdbRepository"),
    "rocksdb": ("tarrafa.lab.engines.rocksdb_engine", "RocksdbRepository"),
    "mercator-a": ("tarrafa.lab.engines.lmdb_engines", "MercatorA"),
    "mercator-b": ("tarrafa.lab.engines.merge_engines", "MercatorB"),
}


def parse_engines(text: str) -> list[str]:
    """Parse engine names separated by commas, without repetitions."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise InputError(f"name at least one engine; known are {', '.join(ENGINES)}")
    for name in names:
        _check_name(name)
    return list(dict.fromkeys(names))


def _check_name(name: str) -> None:
    if name not in ENGINES:
        near = get_close_matches(name, ENGINES, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(ENGINES)}"
        raise InputError(f"unknown engine {name!r}: {hint}")


def open_repository(name: str, folder: Path, *, veuniq_seed: int | None = None) -> UniquenessEngine:
    """Open the repository in a folder; create it if there is none.

    VEUNIQ hashes hosts with `veuniq_seed`, so that its blocks can be those of a stream with the same seed.
    """
    _check_name(name)
    module, kind = ENGINES[name]
    try:
        engine = getattr(import_module(module), kind)
    except ModuleNotFoundError as error:
        raise InputError(f"{name} needs {error.name}: pip install 'tarrafa[engines]'") from None
    options = {"seed": veuniq_seed} if name == "veuniq" and veuniq_seed is not None else {}
    return cast("UniquenessEngine", engine(folder, **options))
