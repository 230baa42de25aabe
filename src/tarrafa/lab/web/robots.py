"""The robots.txt of each host, and what it allows: the web's own judge of its visitors.

The rules are written by this module too, so it needs only what they use: groups by user agent, Allow and Disallow
with `*` and `$`, the longest match wins and Allow wins a tie, as RFC 9309 says.
"""

import re
from collections.abc import Callable

from tarrafa.lab.web.faults import NOTHING_ALLOWED, Fault
from tarrafa.lab.web.pages import SyntheticPages, respelt
from tarrafa.lab.web.plan import SyntheticHost

OTHER_AGENT = "badbot"
HUGE_BYTES = 3_000_000


class RobotsRule:
    """One line of a group: a path that begins so, or a pattern with `*` and `$`."""

    def __init__(self, allow: bool, pattern: str) -> None:
        self._line = f"{'Allow' if allow else 'Disallow'}: {pattern}"
        self.rank = (len(pattern), allow)
        # Most are plain beginnings, and those are found faster without a regular expression.
        plain = "*" not in pattern and not pattern.endswith("$")
        self.matches: Callable[[str], object] = _begins_with(pattern) if plain else _compiled(pattern).match

    def __str__(self) -> str:
        return self._line


def _begins_with(pattern: str) -> Callable[[str], bool]:
    return lambda path: path.startswith(pattern)


def _compiled(pattern: str) -> re.Pattern[str]:
    anchored = pattern.endswith("$")
    parts = (pattern[:-1] if anchored else pattern).split("*")
    return re.compile(".*".join(map(re.escape, parts)) + ("$" if anchored else ""), re.DOTALL)


def allowed_by(rules: tuple[RobotsRule, ...], path: str) -> bool:
    matching = [rule.rank for rule in rules if rule.matches(path)]
    return not matching or max(matching)[1]


class RobotsFiles:
    def __init__(self, pages: SyntheticPages) -> None:
        self._pages = pages
        # Filled by rules; as many as hosts that were asked for.
        self._rules: dict[int, tuple[RobotsRule, ...]] = {}

    def rules(self, host: SyntheticHost) -> tuple[RobotsRule, ...]:
        """What holds for everybody."""
        rules = self._rules.get(host.number)
        if rules is None:
            rules = self._rules[host.number] = self._make(host)
        return rules

    def _make(self, host: SyntheticHost) -> tuple[RobotsRule, ...]:
        """One section of the host is closed but for its first part; so are endless places, on some hosts."""
        if not host.robots or Fault.ROBOTS_FORBIDDEN in host.faults:
            return ()
        rules = [RobotsRule(False, "/cgi-bin/"), RobotsRule(False, "/*?busca=")]
        closed = 2 + host.number % 3
        if closed < host.size:
            folder = self._pages.entry(host, closed).folder
            rules.append(RobotsRule(False, folder))
            child = closed * host.branching + 1
            if child < host.size:
                rules.append(RobotsRule(True, self._pages.entry(host, child).folder))
        if host.number % 2 and Fault.SESSION in host.faults:
            rules.append(RobotsRule(False, "/*sid="))
        return tuple(rules)

    def allows(self, host: SyntheticHost, path: str, user_agent: str = "") -> bool:
        """Whether a visitor may ask for this path; /robots.txt itself always."""
        if path == "/robots.txt" or path.startswith("/__"):
            return True
        if host.faults and host.faults & NOTHING_ALLOWED:
            return False
        if user_agent and OTHER_AGENT in user_agent.lower() and self.readable(host):
            return False
        rules = self.rules(host)
        return not rules or allowed_by(rules, respelt(path) if "%" in path else path)

    def readable(self, host: SyntheticHost) -> bool:
        """Whether the host has a robots.txt that can be read."""
        return host.robots_file and not host.faults & (NOTHING_ALLOWED | {Fault.ROBOTS_FORBIDDEN})

    def text(self, host: SyntheticHost) -> bytes:
        # Without a rule between them, the two user agents would be one group, and all be shut out.
        rules = [str(rule) for rule in self.rules(host)] or ["Disallow:"]
        lines = [f"# {host.name}", "User-agent: *", *rules]
        if host.crawl_delay_seconds:
            lines.append(f"Crawl-delay: {host.crawl_delay_seconds}")
        lines += ["", f"User-agent: {OTHER_AGENT}", "Disallow: /", ""]
        if host.sitemap:
            lines.append(f"Sitemap: {host.origin}/sitemap.xml")
        if Fault.ROBOTS_BROKEN in host.faults:
            return _broken(lines)
        text = "\n".join(lines).encode() + b"\n"
        if Fault.ROBOTS_HUGE in host.faults:
            # Beyond what a visitor must read: whether the last line counts is its own choice, and nothing links there.
            text += b"# " + b"x" * 78 + b"\n"
            text += (b"# " + b"x" * 78 + b"\n") * (HUGE_BYTES // 81) + b"User-agent: *\nDisallow: /nunca/\n"
        return text


def _broken(lines: list[str]) -> bytes:
    """What editors and scripts do to the file: none of it changes what the rules say."""
    noise = b"\x00\xff\xfe not a line of robots\r<html><body>oops</body></html>\rFoo: bar\r"
    return b"\xef\xbb\xbf" + b"\r".join(line.replace(": ", " :\t ").encode() for line in lines) + b"\r" + noise
