"""Small sites made like the programs that many sites run: the URLs and what their pages say, not the looks.

Each answers a URL with its page. `real` are the URLs that must be visited, and `stories` the texts that must be found.
"""

from collections.abc import Iterable
from typing import Protocol
from urllib.parse import parse_qs, urlsplit

from brains import A, make_page
from tarrafa.records import Page

HTML = ("Content-Type", "text/html; charset=utf-8")
PLAIN = ("Content-Type", "text/plain")
UNWANTED = '<meta name="robots" content="noindex,nofollow">'
WORDS = ("boat", "sea", "net", "wind", "wave", "sand", "salt", "fish", "gull", "rope")
OTHERS = ("sail", "tide", "reef", "hull", "mast", "knot", "crew", "port", "dock", "buoy")
ARTICLES = 60
LISTED = 10  # articles of one page of a category


class SmallSite(Protocol):
    front: str
    real: set[str]
    stories: set[str]

    def answer(self, url: str) -> Page: ...


def name_of(number: int) -> str:
    return f"{WORDS[number % 10].title()}_and_{OTHERS[number // 10]}"


def story_of(number: int, parts: int = 6) -> str:
    title = f"{name_of(number % 100)} {'x' * (number // 100)}"
    sentences = (
        f"<p>Part {'abcdefgh'[part]} of {title}: the {WORDS[(number + part) % 10]} "
        f"of {OTHERS[(number * 3 + part) % 10]} meets the {OTHERS[(number * part + 5) % 10]}.</p>"
        for part in range(parts)
    )
    return "".join(sentences)


def html(url: str, title: str, text: str, hrefs: Iterable[str], head: str = "") -> Page:
    links = "".join(f'<p><a href="{href.replace("&", "&amp;")}">{href[-30:]}</a></p>' for href in hrefs)
    body = f"<html><head><title>{title}</title>{head}</head><body>{text}{links}</body></html>"
    return make_page(url, 200, body.encode(), (HTML,))


def missing(url: str) -> Page:
    return make_page(url, 404, b"<html><title>Missing</title>", (HTML,))


def query_of(url: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query, separator="&").items()}


class MediaWiki:
    """Articles have plain URLs; forms, histories and old versions have parameters, and ask not to be indexed.

    Half of the articles are only found by the further pages of a category, which have parameters too.
    """

    def __init__(self) -> None:
        self._numbers = {name_of(number): number for number in range(ARTICLES)}
        self.front = f"{A}/wiki/{name_of(0)}"
        self.real = {f"{A}/wiki/{name}" for name in self._numbers}
        self.stories = {story_of(number) for number in range(ARTICLES)}

    def answer(self, url: str) -> Page:
        query = query_of(url)
        if not query:
            return self._plain(url, urlsplit(url).path.removeprefix("/wiki/"))
        name = query["title"]
        if "pagefrom" in query:
            return self._category(url, self._numbers.get(query["pagefrom"], 0))
        if "pageuntil" in query:
            return self._category(url, max(0, self._numbers.get(query["pageuntil"], 0) - LISTED))
        number = self._numbers.get(name, 0)
        if "printable" in query:
            return html(url, name, story_of(number), [])
        form = f"<form>{query.get('action', 'version')} {name}</form>{story_of(number, 5)}"
        return html(url, name, form, _actions(name), UNWANTED)

    def _plain(self, url: str, name: str) -> Page:
        if name == "Category:All":
            return self._category(url, 0)
        if name.startswith("Special:"):
            return html(url, name, "<p>What links here</p>", [], UNWANTED)
        if name not in self._numbers:
            return missing(url)
        number = self._numbers[name]
        following = [f"/wiki/{name_of((number * 3 + step) % (ARTICLES // 2))}" for step in (1, 2)]
        red = f"/w/index.php?title={name}_missing&action=edit&redlink=1"
        return html(url, name, story_of(number), [*following, "/wiki/Category:All", red, *_actions(name)])

    def _category(self, url: str, start: int) -> Page:
        listed = [f"/wiki/{name_of(number)}" for number in range(start, min(start + LISTED, ARTICLES))]
        own = "/w/index.php?title=Category:All"
        more = [f"{own}&pagefrom={name_of(start + LISTED)}"] if start + LISTED < ARTICLES else []
        back = [f"{own}&pageuntil={name_of(start)}"] if start else []
        text = "<p>Pages of this category</p>"
        return html(url, "Category:All", text, [*more, *back, *listed, *_actions("Category:All")])


def _actions(name: str) -> list[str]:
    own = f"/w/index.php?title={name}"
    special = [f"/w/index.php?title=Special:Login&returnto={name}", f"/wiki/Special:WhatLinksHere/{name}"]
    forms = [f"{own}&action={action}" for action in ("edit", "history", "info")]
    sections = [f"{own}&action=edit&section={number}" for number in range(1, 4)]
    versions = [f"{own}&oldid={len(name) * 100 + number}" for number in range(3)]
    return [*forms, *sections, *versions, f"{own}&printable=yes", *special]


class DokuWiki:
    """All is one script: a page is `?id=…`, and each has exports, a form, revisions, differences and an index."""

    def __init__(self) -> None:
        self._ids = [f"{WORDS[number % 5]}:{name_of(number).lower()}" for number in range(ARTICLES)]
        self._numbers = {name: number for number, name in enumerate(self._ids)}
        self.real = {f"{A}/doku.php?id={name}" for name in self._ids}
        self.front = f"{A}/doku.php?id={self._ids[0]}"
        self.stories = {story_of(number) for number in range(ARTICLES)}

    def answer(self, url: str) -> Page:
        query = query_of(url)
        name, do = query["id"], query.get("do", "show")
        if name not in self._numbers:
            return missing(url)
        number, own = self._numbers[name], f"/doku.php?id={name}"
        following = [f"/doku.php?id={self._ids[(number * 2 + step) % ARTICLES]}" for step in (1, 2)]
        if do == "export_raw":
            text = f"====== {name} ======\n{story_of(number)}"
            return make_page(url, 200, text.encode(), (PLAIN, ("X-Robots-Tag", "noindex")))
        if do == "export_xhtml":
            return html(url, name, story_of(number), following)._replace(headers=(HTML, ("X-Robots-Tag", "noindex")))
        others = [f"{own}&do={action}" for action in ("edit", "revisions", "index", "backlink")]
        others += [f"{own}&rev={1_700_000_000 + number * 99 + step}&do=diff" for step in range(3)]
        exports = [f"/doku.php?do={kind}&id={name}" for kind in ("export_raw", "export_xhtml")]
        text = story_of(number) if do == "show" else f"<p>{do} of {name}</p>{story_of(number, 4)}"
        return html(url, name, text, [*exports, *others, *following], "" if do == "show" else UNWANTED)


class CodeBrowser:
    """Asks for nothing: each file at each commit, with many views. Files seldom change."""

    FILES, COMMITS = 12, 12

    def __init__(self) -> None:
        self._commits = [f"{number * 7_919:06x}{number:034x}" for number in range(1, self.COMMITS + 1)]
        self.front = f"{A}/git"
        self.real = {f"{A}/git?a=commit;h={commit}" for commit in self._commits}
        self.stories = {story_of(self._version(n, at)) for n in range(self.FILES) for at in range(self.COMMITS)}

    @staticmethod
    def _version(file: int, at: int) -> int:
        return file + 100 * ((at + file) // 4)

    def answer(self, url: str) -> Page:
        query = dict(part.partition("=")[::2] for part in urlsplit(url).query.split(";"))
        view, commit, file = query.get("a", "log"), query.get("h", self._commits[-1]), query.get("f")
        if view == "snapshot":
            return make_page(url, 200)._replace(unread=True)
        if view == "tree" or (file is None and view not in ("log", "shortlog", "commit", "commitdiff", "patch")):
            return self._tree(url, commit)
        if file is None:
            return self._of_commit(url, view, commit)
        return self._of_file(url, view, commit, file)

    def _tree(self, url: str, commit: str) -> Page:
        names = [f"f{number}" for number in range(self.FILES)]
        views = [f"/git?a={view};f={name};h={commit}" for name in names for view in ("blob", "blame", "history", "rss")]
        return html(url, "tree", "".join(f"<p>{name}</p>" for name in names), views)

    def _of_commit(self, url: str, view: str, commit: str) -> Page:
        at = self._commits.index(commit)
        if view in ("log", "shortlog"):
            lines = "".join(f"<p>{story_of(700 + number, 1)}</p>" for number in range(at + 1))
            logs = [f"/git?a={view};h={commit}" for view in ("log", "shortlog")]
            return html(url, view, lines, [*(f"/git?a=commit;h={each}" for each in self._commits), *logs])
        views = ("commit", "commitdiff", "patch", "log", "tree", "snapshot")
        return html(url, view, story_of(700 + at), [f"/git?a={view};h={commit}" for view in views])

    def _of_file(self, url: str, view: str, commit: str, file: str) -> Page:
        if view == "rss":
            items = "".join(f"<item><link>{A}/git?a=commit;h={each}</link></item>" for each in self._commits)
            body = f'<rss version="2.0"><channel><title>{file}</title>{items}</channel></rss>'
            return make_page(url, 200, body.encode(), (("Content-Type", "application/rss+xml"),))
        if view == "history":
            lines = "".join(f"<p>{each[:8]}</p>" for each in self._commits)
            return html(url, view, lines, [f"/git?a=blob;f={file};h={each}" for each in self._commits])
        text = story_of(self._version(int(file[1:]), self._commits.index(commit)))
        views = ("blob", "blame", "history", "raw", "tree")
        return html(url, file, text, [f"/git?a={view};f={file};h={commit}" for view in views])


class Listing:
    """Folders of files with the links of a server's own listing: by each column, up and down."""

    def __init__(self) -> None:
        self._folders = [f"/{name}/" for name in OTHERS[:8]]
        places = [(folder, place * 8 + n) for place, folder in enumerate(self._folders) for n in range(8)]
        self._files = {f"{folder}{name_of(number)}.txt": number for folder, number in places}
        self.front = f"{A}/"
        self.real = {A + path for path in (*self._folders, *self._files)}
        self.stories = {story_of(number) for number in self._files.values()}

    def answer(self, url: str) -> Page:
        path = urlsplit(url).path
        if path in self._files:
            return make_page(url, 200, story_of(self._files[path]).encode(), (PLAIN,))
        if path != "/" and path not in self._folders:
            return missing(url)
        orders = [f"{path}?C={column};O={order}" for column in "NMSD" for order in "AD"]
        names = self._folders if path == "/" else ["/", *(file for file in self._files if file.startswith(path))]
        text = "".join(f"<p>{name} 2024-01-01</p>" for name in names)
        return html(url, f"Index of {path}", text, [*orders, *names])
