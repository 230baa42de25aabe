"""Reading an SQLite file beside its writer: nothing is written, and no answer mixes two states."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tarrafa.database import Database, DatabaseReader
from tarrafa.errors import DamagedError, WorkError

TABLES = "CREATE TABLE numbers (number INTEGER); INSERT INTO numbers VALUES (1);"
QUERY = "SELECT number FROM numbers ORDER BY number"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "file.sqlite"
    Database(path, TABLES, 3, "mend it", is_durable=True).close()
    return path


@pytest.fixture
def reader(path: Path) -> Iterator[DatabaseReader]:
    with closing(DatabaseReader(path, 3, "mend it")) as found:
        yield found


def test_reader_creates_no_file(path: Path, reader: DatabaseReader) -> None:
    assert reader.rows(QUERY) == [(1,)]
    assert list(path.parent.iterdir()) == [path]


def test_reader_that_was_open_before_a_writer_sees_what_it_commits(path: Path, reader: DatabaseReader) -> None:
    with closing(Database(path, TABLES, 3, "mend it", is_durable=True)) as writer:
        writer.write("INSERT INTO numbers VALUES (2)")
        assert reader.rows(QUERY) == [(1,), (2,)]
        writer.write("INSERT INTO numbers VALUES (3)")
        assert reader.rows(QUERY) == [(1,), (2,), (3,)]
    assert reader.rows(QUERY) == [(1,), (2,), (3,)]


def test_reader_beside_a_writer_sees_what_is_in_its_log(path: Path) -> None:
    with closing(Database(path, TABLES, 3, "mend it", is_durable=True)) as writer:
        writer.write("INSERT INTO numbers VALUES (2)")
        with closing(DatabaseReader(path, 3, "mend it")) as reader:
            assert reader.rows(QUERY) == [(1,), (2,)]


def test_log_without_its_index_is_read_from_a_copy(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    with closing(Database(path, TABLES, 3, "mend it", is_durable=True)) as writer:
        writer.write("INSERT INTO numbers VALUES (2)")
        for name in (path.name, f"{path.name}-wal"):
            (copy / name).write_bytes((path.parent / name).read_bytes())
    with closing(DatabaseReader(copy / path.name, 3, "mend it")) as reader:
        assert reader.rows(QUERY) == [(1,), (2,)]
    assert sorted(each.name for each in copy.iterdir()) == [path.name, f"{path.name}-wal"]


def test_file_that_is_being_created_is_told_apart_from_a_damaged_one(tmp_path: Path, path: Path) -> None:
    (tmp_path / "new.sqlite").touch()
    with pytest.raises(WorkError, match="being created"):
        DatabaseReader(tmp_path / "new.sqlite", 3, "mend it")
    with pytest.raises(DamagedError, match="has format 3, not 4; mend it"):
        DatabaseReader(path, 4, "mend it")
    with pytest.raises(WorkError, match=r"missing\.sqlite: No such file"):
        DatabaseReader(tmp_path / "missing.sqlite", 3, "mend it")
