"""How much memory a crawl takes at most, in a process of its own: bounded, and not by how many URLs are known."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawls import HASTE, arguments, pages, served
from servers import Server, Visit
from tarrafa.agent import CrawlFolder
from tarrafa.verify import Veuniq

CRAWL_BYTES = 260_000_000
LISTED_COUNT = 50_000
LISTED_BYTES = 60_000_000


# The process asks for its own peak: what wait4 reports includes the memory of the process that started it.
CHILD = """
import sys
from pathlib import Path
from tarrafa.cli.app import run

code = run(sys.argv[1:])
(line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
print(int(line.split()[1]) * 1024)
sys.exit(code)
"""


def peak_bytes(*words: str) -> int:
    """Run a command to its end, and return the most memory that it had."""
    done = subprocess.run([sys.executable, "-c", CHILD, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return int(done.stdout.splitlines()[-1])


def test_crawl_of_three_thousand_pages_stays_within_its_memory(tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    with served("--hosts", "50", "--pages", "4000", "--rng-seed", "5") as web:
        assert peak_bytes(*arguments(web, folder, "--pages", "3000")) < CRAWL_BYTES
    assert len(pages(folder)) == 3_000


def answered(visit: Visit) -> None:
    """Answer as a host whose pages are few, and whose sitemap lists few URLs or many, as the name of the host says."""
    path, host = visit.request.split(b" ")[1], visit.request.partition(b"Host: ")[2].partition(b"\r\n")[0]
    count = LISTED_COUNT if host.startswith(b"127.0.0.1") else 10
    body, kind = b"<p>a page", b"text/html"
    if path == b"/robots.txt":
        body, kind = b"Sitemap: http://%b/sitemap.xml" % host, b"text/plain"
    elif path == b"/sitemap.xml":
        entries = (b"<url><loc>http://%b/p/%d</loc></url>" % (host, number) for number in range(count))
        body, kind = b"<urlset>%b</urlset>" % b"".join(entries), b"application/xml"
    head = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n"
    visit.send(head % (kind, len(body)) + body)


@pytest.fixture
def port() -> Iterator[int]:
    server = Server(answered)
    yield server.port
    server.close()


def test_memory_does_not_grow_with_the_urls_that_are_known(port: int, tmp_path: Path) -> None:
    """A shop whose sitemap lists far more pages than the crawl is to have."""
    haste = tmp_path / "haste.toml"
    haste.write_text(HASTE.replace('"200kB"', '"5MB"'))

    def crawl(name: str) -> int:
        """Return the peak memory of a crawl of ten pages."""
        words = ["crawl", f"http://{name}:{port}/", "--pages", "10", "--dir", str(tmp_path / name)]
        return peak_bytes("--config", str(haste), *words)

    few_bytes, many_bytes = crawl("localhost"), crawl("127.0.0.1")
    with Veuniq(CrawlFolder(tmp_path / "127.0.0.1").repository) as repository:
        assert repository.counts().known > LISTED_COUNT
    assert many_bytes - few_bytes < LISTED_BYTES
