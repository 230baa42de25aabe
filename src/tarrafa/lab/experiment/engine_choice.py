"""The engines by name, opened so that runs can be compared."""

from pathlib import Path

from tarrafa.errors import InputError
from tarrafa.verify import UniquenessEngine, Veuniq


def names() -> tuple[str, ...]:
    # Imported late: the databases behind the engines take a while to load, and other commands do without.
    from tarrafa.lab.engines import ENGINES

    return tuple(ENGINES)


def chosen(text: str) -> list[str]:
    """Names with commas between; each must be known."""
    found = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in found if name not in names()]
    if unknown or not found:
        raise InputError(f"no engine is called {', '.join(unknown) or 'that'}; there are {', '.join(names())}")
    return list(dict.fromkeys(found))


def opened(name: str, folder: Path, seed: int) -> UniquenessEngine:
    """The engine on a folder of its own. VEUNIQ hashes hosts as the stream does: its blocks are the stream's."""
    if name == "veuniq":
        return Veuniq(folder, seed=seed)
    from tarrafa.lab.engines import open_repository

    return open_repository(name, folder)
