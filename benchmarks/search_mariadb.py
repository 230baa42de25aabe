"""A temporary MariaDB or MySQL server, for its full-text search.

It listens only on a socket in its temporary folder, touches no other data, and ends with the process that started it.
Documents are in an InnoDB table with one FULLTEXT index over title, headings and text, built after loading, which is
the fast way. All words are indexed, as by the others.
"""

import ctypes
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from search_collection import Texts

try:
    import pymysql
except ImportError:
    pymysql = None

SIGNAL_WHEN_PARENT_ENDS = 1  # an option of Linux's prctl
# Looked up before the fork: nothing may be looked up between fork and exec.
prctl = ctypes.CDLL(None).prctl
START_SECONDS = 60.0
END_SECONDS = 30.0
POLL_SECONDS = 0.05
PLACES = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/usr/local/sbin"))
SETTINGS = (
    "--skip-networking",
    "--innodb-buffer-pool-size=1G",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-ft-enable-stopword=OFF",
    "--innodb-ft-min-token-size=1",
    "--secure-file-priv=",
)
TABLE = (
    "CREATE TABLE documents (FTS_DOC_ID BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,"
    " title TEXT, headings TEXT, text TEXT) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"
)
MATCH = "MATCH (title, headings, text) AGAINST (%s IN BOOLEAN MODE)"
SELECT = f"SELECT title, {MATCH} AS score FROM documents WHERE {MATCH} ORDER BY score DESC LIMIT %s OFFSET %s"


class MissingError(Exception):
    """No server can be measured; the message says why."""


class Server:
    """A connection to the server."""

    def __init__(self, folder: Path, process: "subprocess.Popen[bytes]", connection: Any) -> None:
        self._folder = folder
        self._process = process
        self._cursor = connection.cursor()
        self._cursor.execute("CREATE DATABASE bench")
        self._cursor.execute("USE bench")
        self._cursor.execute(TABLE)

    def load(self, documents: Iterable[Texts]) -> None:
        """Load the documents from a file, which is faster than statements. Simulated words need no escapes."""
        path = self._folder / "load.tsv"
        path.write_text("".join("\t".join(texts) + "\n" for texts in documents), encoding="ascii")
        self._cursor.execute("LOAD DATA INFILE %s INTO TABLE documents (title, headings, text)", (str(path),))
        path.unlink()

    def index(self) -> None:
        self._cursor.execute("CREATE FULLTEXT INDEX found ON documents (title, headings, text)")

    def answer(self, question: str, limit: int, offset: int) -> list[tuple[str, float]]:
        self._cursor.execute(SELECT, (question, question, limit, offset))
        return list(self._cursor.fetchall())

    @property
    def version(self) -> str:
        self._cursor.execute("SELECT VERSION()")
        return str(self._cursor.fetchone()[0])

    @property
    def size_bytes(self) -> int:
        """Return the size of texts and index: a table's files hold both."""
        return sum(path.stat().st_size for path in (self._folder / "data" / "bench").iterdir())

    @property
    def cpu_seconds(self) -> float:
        """Return the CPU time of all threads of the server."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def server() -> Iterator[Server]:
    if pymysql is None:
        raise MissingError("PyMySQL is not installed: pip install 'tarrafa[bench]'")
    with ExitStack() as stack:
        # A socket's path has at most 107 characters, so it gets its own short folder.
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tarrafa-")))
        common = ["--no-defaults", f"--datadir={folder / 'data'}", f"--user={_user()}"]
        begin = _prepared(common)
        log = stack.enter_context((folder / "log").open("wb"))
        command = [*begin, *common, f"--socket={folder / 'socket'}", f"--pid-file={folder / 'pid'}", *SETTINGS]
        process = subprocess.Popen(command, stdout=log, stderr=log, preexec_fn=_end_with_parent)
        stack.callback(_end, process)
        connection = _connected(folder, process)
        stack.callback(connection.close)
        yield Server(folder, process, connection)


def _end_with_parent() -> None:
    """End the server when the benchmark is killed; runs in the server's process before exec."""
    prctl(SIGNAL_WHEN_PARENT_ENDS, signal.SIGTERM)


def _prepared(common: list[str]) -> list[str]:
    """Create the system tables; return the command of the server."""
    mariadb, mysql = (shutil.which(name, path=PLACES) for name in ("mariadbd", "mysqld"))
    install = shutil.which("mariadb-install-db", path=PLACES)
    if mariadb and install:
        # Its own options come after those of the server.
        made = _run(install, *common, "--auth-root-authentication-method=normal", "--skip-test-db")
    elif mysql and not mariadb:
        made = _run(mysql, *common, "--initialize-insecure")
    else:
        raise MissingError("no mariadbd or mysqld on PATH or in /usr/sbin: install mariadb-server")
    if made.returncode:
        raise MissingError(f"cannot create the server's tables: {_last_line(made.stdout)}")
    return [mariadb or mysql or ""]


def _run(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def _user() -> str:
    """Return our user name: the server refuses to run as root unless it is named."""
    return pwd.getpwuid(os.geteuid()).pw_name


def _connected(folder: Path, process: "subprocess.Popen[bytes]") -> Any:
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            return pymysql.connect(unix_socket=str(folder / "socket"), user="root", autocommit=True)
        except pymysql.err.OperationalError:
            time.sleep(POLL_SECONDS)
    raise MissingError(f"the server does not start: {_last_line((folder / 'log').read_text(errors='replace'))}")


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no output"])[-1]
