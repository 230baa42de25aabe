"""The same seed gives the same bytes on every machine, in every process and version.

After an intended change, `python tests/test_web_golden.py` prints the new digests.
"""

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import astuple, replace

from tarrafa.lab.web import Plan, SyntheticWeb, Truth, parse_faults, resources
from tarrafa.lab.web.history import DAY_MS
from webs import get, hosts_of, pages_of

PLAN = Plan(hosts=60, pages=3_000, rng_seed=1, port=8800)

GOLDEN = {
    "sizes": "1c48c2da9603730b",
    "hosts": "8f90de561d3ca817",
    "front page": "4d5febd8945bc904",
    "names": "20a957376022f84e",
    "robots.txt": "a7e1b62696c54536",
    "sitemaps": "967ffc3da685a98f",
    "image": "4338982673a3e2b4",
    "PDF": "41bb00c7b978422f",
    "pages": "f0d39033cfc91a92",
    "headers": "ec7a395a6be1ac98",
    "pages of day 30": "1b79f632743eb31e",
    "hostile pages": "510650d2a8339a36",
    "hostile faults": "b14497576da90301",
    "traps": "0144811ffab8bb14",
    "truth of day 9": "11b4c52b389ae3ec",
    "utf-8": "bad77b839b243fe8",
    "windows-1252": "90172911f65e3c66",
    "iso-8859-1": "37f8adfe05d743b7",
}


def digest(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def digests(plan: Plan = PLAN) -> dict[str, str]:
    """Return digests by name. Nothing is compressed, because compressors differ."""
    web = SyntheticWeb(plan)
    hosts, pages = hosts_of(web), list(pages_of(web))
    hostile = SyntheticWeb(replace(plan, faults=parse_faults("hostile")))
    found = {
        "sizes": repr(web.hosts.sizes).encode(),
        "hosts": repr([astuple(host) for host in hosts]).encode(),
        "front page": get(web, hosts[0], 0).body,
        "names": get(SyntheticWeb(replace(plan, names=True)), hosts[0], 0).body,
        "robots.txt": b"".join(get(web, host, "/robots.txt").body for host in hosts),
        "sitemaps": b"".join(get(web, host, "/sitemap.xml").body for host in hosts),
        "image": resources.png(5),
        "PDF": get(web, hosts[1], "/doc/5.pdf").body,
        "pages": b"".join(get(web, host, page).body for host, page in pages[::50]),
        "headers": repr([get(web, host, page).headers for host, page in pages[::50]]).encode(),
        "pages of day 30": b"".join(get(web, host, page, 30 * DAY_MS).body for host, page in pages[::100]),
        "hostile pages": b"".join(get(hostile, host, 0).body for host in hosts_of(hostile)),
        "hostile faults": repr([sorted(host.faults) for host in hosts_of(hostile)]).encode(),
        "traps": b"".join(resources.trap_page(host, "/calendario/2026/3") or b"" for host in hosts_of(hostile)),
        "truth of day 9": Truth(SyntheticWeb(replace(plan, hosts=20, pages=300)), 9 * DAY_MS).document(),
    }
    charsets = {host.charset: get(web, host, 1).body for host in reversed(hosts) if host.size > 1}
    return {name: digest(body) for name, body in {**found, **charsets}.items()}


def test_bytes_are_these_on_every_machine() -> None:
    assert digests() == GOLDEN


def test_bytes_do_not_depend_on_the_process_its_hash_seed_its_language_or_its_time_zone() -> None:
    environment = {**os.environ, "PYTHONHASHSEED": "12345", "LC_ALL": "C", "TZ": "Asia/Tokyo", "PYTHONUTF8": "0"}
    done = subprocess.run([sys.executable, __file__], env=environment, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == GOLDEN


def test_another_seed_gives_another_web() -> None:
    other = digests(replace(PLAN, rng_seed=2))
    assert {name for name in GOLDEN if other[name] == GOLDEN[name]} <= {"image", "traps"}


def test_asking_in_another_order_gives_the_same_bytes() -> None:
    one, other = SyntheticWeb(PLAN), SyntheticWeb(PLAN)
    pages = list(pages_of(one))[::60]
    forward = [get(one, host, page).body for host, page in pages]
    backward = [get(other, host, page).body for host, page in reversed(pages)]
    assert forward == backward[::-1]


def test_digests_tell_of_what_they_are() -> None:
    """A digest of empty bytes would always match."""
    assert digest(b"") not in GOLDEN.values()
    assert len(set(GOLDEN.values())) == len(GOLDEN)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(digests(), indent=4) + "\n")
