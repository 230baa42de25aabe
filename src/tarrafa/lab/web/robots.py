"""The robots.txt of each host, and what it allows.

The same module writes the rules, so it implements only what they use: groups by user agent, Allow and Disallow with `*`
and `$`, the longest match wins and Allow wins a tie (RFC 9309).
"""

import re
from collections.abc import Callable

from tarrafa.lab.web.faults import NOTHING_ALLOWED, Fault
from tarrafa.lab.web.pages import SyntheticPages, normalise_escapes
from tarrafa.lab.web.plan import SyntheticHost

OTHER_AGENT = "badbot"
HUGE_BYTES = 3_000_000


class RobotsRule:
    """One rule: a path prefix, or a pattern with `*` and `$`."""

    def __init__(self, allow: bool, pattern: str) -> None:
        self._line = f"{'Allow' if allow else 'Disallow'}: {pattern}"
        self.rank = (len(pattern), allow)
        # Most rules are plain prefixes, which are faster without a regular expression.
        plain = "*" not in pattern and not pattern.endswith("$")
        self.matches: Callable[[str], object] = _match_prefix(pattern) if plain else _compile_pattern(pattern).match

    def __str__(self) -> str:
        return self._line


def _match_prefix(pattern: str) -> Callable[[str], bool]:
    return lambda path: path.startswith(pattern)


def _compile_pattern(pattern: str) -> re.Pattern[str]:
    anchored = pattern.endswith("$")
    parts = (pattern[:-1] if anchored else pattern).split("*")
    return re.compile(".*".join(map(re.escape, parts)) + ("$" if anchored else ""), re.DOTALL)


def allowed_by(rules: tuple[RobotsRule, ...], path: str) -> bool:
    matching = [rule.rank for rule in rules if rule.matches(path)]
    return not matching or max(matching)[1]


class RobotsFiles:
    def __init__(self, pages: SyntheticPages) -> None:
        self._pages = pages
        # Filled by rules, one for each host that was requested.
        self._rules: dict[int, tuple[RobotsRule, ...]] = {}

    def rules(self, host: SyntheticHost) -> tuple[RobotsRule, ...]:
        """Return the rules for all user agents."""
        rules = self._rules.get(host.number)
        if rules is None:
            rules = self._rules[host.number] = self._make(host)
        return rules

    def _make(self, host: SyntheticHost) -> tuple[RobotsRule, ...]:
        """Close one section of the host except its first part, and on some hosts the URLs with session ids."""
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
        """Return True if a client may request this path; /robots.txt always."""
        if path == "/robots.txt" or path.startswith("/__"):
            return True
        if host.faults and host.faults & NOTHING_ALLOWED:
            return False
        if user_agent and OTHER_AGENT in user_agent.lower() and self.readable(host):
            return False
        rules = self.rules(host)
        return not rules or allowed_by(rules, normalise_escapes(path) if "%" in path else path)

    def readable(self, host: SyntheticHost) -> bool:
        """Return True if the host has a readable robots.txt."""
        return host.robots_file and not host.faults & (NOTHING_ALLOWED | {Fault.ROBOTS_FORBIDDEN})

    def text(self, host: SyntheticHost) -> bytes:
        # Without a rule between them, both user agents would form one group and be shut out.
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
            # This lies beyond what a client must read, so the last rule may or may not count; nothing links there.
            text += b"# " + b"x" * 78 + b"\n"
            text += (b"# " + b"x" * 78 + b"\n") * (HUGE_BYTES // 81) + b"User-agent: *\nDisallow: /nunca/\n"
        return text


def _broken(lines: list[str]) -> bytes:
    """Return the file as editors and scripts break it, without changing the meaning of the rules."""
    noise = b"\x00\xff\xfe not a line of robots\r<html><body>oops</body></html>\rFoo: bar\r"
    return b"\xef\xbb\xbf" + b"\r".join(line.replace(": ", " :\t ").encode() for line in lines) + b"\r" + noise
