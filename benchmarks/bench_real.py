"""Measure what a crawl of real sites costs, beside Scrapy in the same run: folders of HTML that others wrote.

Without --sites, four packages of Debian's documentation are downloaded with apt-get and unpacked, not installed. Each
folder is served over HTTP and crawled by both, following links only. A page is an answer with status 200. CPU seconds
are those of the whole tree of processes, with the start. Every page of HTML that Scrapy finds and Tarrafa does not is
listed, and the exit status is 1 then.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from site_server import SiteServer, served_folder

PACKAGES = {
    "python3.11-doc": "usr/share/doc/python3.11/html",
    "sqlite3-doc": "usr/share/doc/sqlite3",
    "debian-reference-en": "usr/share/debian-reference",
    "debian-handbook": "usr/share/doc/debian-handbook/html",
}
# Where downloaded packages are kept between runs.
CACHE = Path(__file__).resolve().parent.parent / "build" / "real-sites"
MISSING_SHOWN = 10
BLOCK_BYTES = 512  # unit of st_blocks

SPIDER = """
import sys
import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor

url, out = sys.argv[1], sys.argv[2]

class Site(scrapy.Spider):
    name = "site"
    start_urls = [url]
    allowed_domains = ["127.0.0.1"]
    links = LinkExtractor()

    def parse(self, response):
        found = self.links.extract_links(response) if isinstance(response, scrapy.http.HtmlResponse) else []
        yield {"url": response.url, "status": response.status, "body": response.body.decode("latin-1"),
               "links": [(link.url, link.text) for link in found]}
        for link in found:
            if not link.nofollow:
                yield scrapy.Request(link.url, callback=self.parse)

process = CrawlerProcess({
    "ROBOTSTXT_OBEY": True, "USER_AGENT": "bench/1.0", "LOG_LEVEL": "ERROR", "DOWNLOAD_DELAY": 0,
    "COOKIES_ENABLED": False, "RETRY_ENABLED": False, "TELNETCONSOLE_ENABLED": False, "DEPTH_LIMIT": 0,
    "FEEDS": {out: {"format": "jsonlines"}},
})
process.crawl(Site)
process.start()
"""


def downloaded(package: str) -> Path:
    """Return the folder of a package's HTML; download and unpack it if it is not there."""
    target = CACHE / package
    folder = target / PACKAGES[package]
    if not folder.is_dir():
        target.mkdir(parents=True, exist_ok=True)
        names = [package, "debian-reference-common"] if package.startswith("debian-reference") else [package]
        subprocess.run(["apt-get", "download", "-qq", *names], cwd=target, check=True)
        for archive in target.glob("*.deb"):
            subprocess.run(["dpkg-deb", "-x", str(archive), str(target)], check=True)
            archive.unlink()
    return folder


def first_path(folder: Path) -> str:
    """Return the path of the page to begin with: the folder itself if it has an index, else its first page."""
    if (folder / "index.html").exists():
        return ""
    pages = sorted(path.name for path in folder.glob("index*.html")) or sorted(
        path.name for path in folder.glob("*.html")
    )
    return pages[0] if pages else ""


def measured(server: SiteServer, words: Sequence[str]) -> dict[str, Any]:
    """Run a crawler to its end; return what it cost."""
    began = time.monotonic()
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, env=environment())
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(words[:4])} … ended with {process.returncode}")
    pages, cpu_seconds = server.successes(), usage.ru_utime + usage.ru_stime
    return {
        "pages": pages,
        "html_pages": len(server.pages()),
        "requests": len(server.answers),
        "cpu_seconds": round(cpu_seconds, 2),
        "cpu_seconds_per_1000_pages": round(1000 * cpu_seconds / max(pages, 1), 2),
        "seconds": round(time.monotonic() - began, 1),
        "peak_rss_bytes": usage.ru_maxrss * 1024,
        "received_bytes": server.sent_bytes,
    }


def environment() -> dict[str, str]:
    """Return an environment in which Python keeps its compiled files."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def disk_bytes(folder: Path) -> int:
    return sum(path.stat().st_blocks * BLOCK_BYTES for path in folder.rglob("*") if path.is_file())


def measure_site(folder: Path, scratch: Path, *, has_scrapy: bool) -> dict[str, Any]:
    """Crawl a folder with both; return their costs and what we missed."""
    first = first_path(folder)
    with served_folder(folder) as server:
        crawl = scratch / "crawl"
        words = [sys.executable, "-m", "tarrafa", "crawl", server.url + first, "--dir", str(crawl), "--allow-private"]
        ours = measured(server, [*words, "--delay", "0s", "--json"])
        our_pages = server.pages()
    ours["disk_bytes_per_byte"] = round(disk_bytes(crawl) / max(ours["received_bytes"], 1), 2)
    if not has_scrapy:
        return {"tarrafa": ours, "scrapy": "missing"}
    spider = scratch / "spider.py"
    spider.write_text(SPIDER)
    with served_folder(folder) as server:
        words = [sys.executable, str(spider), server.url + first, str(scratch / "scrapy.jsonl")]
        theirs = measured(server, words)
        missing = sorted(server.pages() - our_pages)
    key = "cpu_seconds_per_1000_pages"
    return {
        "tarrafa": ours,
        "scrapy": theirs,
        "ratio": round(theirs[key] / ours[key], 2),
        "missing": len(missing),
        "missing_paths": missing[:MISSING_SHOWN],
    }


def measure(folders: Sequence[Path], *, has_scrapy: bool) -> dict[str, Any]:
    report = {}
    for folder in folders:
        with tempfile.TemporaryDirectory() as scratch:
            report[str(folder)] = measure_site(folder, Path(scratch), has_scrapy=has_scrapy)
    return report


def show(name: str, found: dict[str, Any]) -> None:
    print(name)
    for crawler in ("tarrafa", "scrapy"):
        if found[crawler] == "missing":
            print(f"  {crawler:8} missing: pip install {crawler}")
            continue
        cost = found[crawler]
        print(
            f"  {crawler:8} {cost['pages']:6,} pages  {cost['cpu_seconds_per_1000_pages']:7.2f} CPU-s per 1,000  "
            f"{cost['peak_rss_bytes'] / 1e6:5.0f} MB  {cost['received_bytes'] / 1e6:7.1f} MB received"
            + (f"  {cost['disk_bytes_per_byte']:.2f} bytes on disk a byte" if crawler == "tarrafa" else "")
        )
    if "ratio" in found:
        print(
            f"  scrapy needs {found['ratio']:.1f} times as much CPU; {found['missing']} of its pages are missing here"
        )
        for path in found["missing_paths"]:
            print(f"    missing: {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--sites", nargs="+", type=Path, metavar="DIR", help="folders of HTML (default: Debian's documentation)"
    )
    arguments = parser.parse_args()
    for folder in arguments.sites or ():
        if not folder.is_dir():
            parser.error(f"{folder} is not a folder")
    folders = arguments.sites or [downloaded(package) for package in PACKAGES]
    has_scrapy = (
        subprocess.run([sys.executable, "-c", "import scrapy"], capture_output=True, check=False).returncode == 0
    )
    report = measure(folders, has_scrapy=has_scrapy)
    if arguments.json:
        print(json.dumps(report))
    else:
        for name, found in report.items():
            show(name, found)
    if any(found.get("missing") for found in report.values()):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
