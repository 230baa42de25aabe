"""The search page in a real browser: Chromium, driven by playwright."""

import itertools
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from servers import Server as Listener
from servers import Visit as Connection
from serving import HITS, HOSTILE, NETS, TRICKS, FakeSearch, Served, make_crawl, served
from tarrafa.serve.stored_copy import POLICY

playwright = pytest.importorskip("playwright.sync_api", reason="playwright for Python is not installed")

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
ARGUMENTS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
WAIT_MS = 20_000

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no browser: install chromium"),
    # Playwright leaves its own loop and pipes to the collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]


def refuse(connection: Connection) -> None:
    connection.send(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")


@pytest.fixture(scope="module")
def listener() -> Iterator[Listener]:
    """Where hostile pages would be heard of."""
    found = Listener(refuse)
    yield found
    found.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, listener: Listener) -> Iterator[Served]:
    root = make_crawl(tmp_path_factory.mktemp("crawl"), f"http://127.0.0.1:{listener.port}/")
    with served(root, FakeSearch()) as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield found
        found.close()


class Tab:
    """A tab with a memory of its own, of what was asked for and what the browser complained of."""

    def __init__(self, browser: Any, site: Served, **options: Any) -> None:
        self.context = browser.new_context(locale="en-GB", **options)
        self.context.set_default_timeout(WAIT_MS)
        self.page = self.context.new_page()
        self.site = site
        self.complaints: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.context.on("request", lambda request: self.asked.append(request.url))

    def go(self, path: str) -> Any:
        self.page.goto(self.site.url.rstrip("/") + path)
        return self.page


@pytest.fixture
def tab(browser: Any, site: Served) -> Iterator[Tab]:
    made = Tab(browser, site)
    yield made
    made.context.close()


ALL_PAGES = [
    *("/", "/search?q=rede", "/search?q=rede&site=porto.example", "/search?q=nothing", "/no-such-page"),
    *(f"/facts?url={NETS}&q=rede", f"/copy?url={NETS}"),
]


def test_reader_searches_goes_on_and_looks_at_facts_and_copy(tab: Tab) -> None:
    page = tab.go("/")
    page.get_by_role("combobox").fill("rede")
    page.get_by_role("combobox").press("Enter")
    page.wait_for_url("**/search?q=rede")
    assert page.locator(".results article").count() == 10
    assert page.locator("mark").first.inner_text() == "pesca"
    page.get_by_role("link", name="Next").click()
    page.wait_for_url("**page=2")
    assert page.locator(".results h2").first.inner_text() == HITS[10].title
    page.go_back()
    page.get_by_role("link", name="Facts about A rede").click()
    page.wait_for_url("**/facts?**")
    assert page.locator("h1").inner_text() == "A rede <b>tarrafa</b>"
    assert "a tarrafa" in page.locator("section", has_text="Incoming links").inner_text()
    page.get_by_role("link", name="Stored copy").click()
    page.wait_for_url("**/copy?**")
    assert page.frame_locator("iframe").locator("html").count() == 1
    assert tab.complaints == []


def test_suggestions_come_while_typing_and_are_chosen_by_keys(tab: Tab) -> None:
    page = tab.go("/")
    page.keyboard.type("ta")
    page.get_by_role("option").first.wait_for()
    assert page.get_by_role("option").all_inner_texts() == ["tarrafa", "tainha <b>"]
    page.keyboard.press("ArrowDown")
    assert page.get_by_role("combobox").get_attribute("aria-activedescendant") == "suggestion-0"
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?q=tarrafa")
    assert tab.complaints == []


def test_escape_closes_suggestions(tab: Tab) -> None:
    page = tab.go("/")
    page.keyboard.type("ta")
    page.get_by_role("option").first.wait_for()
    page.keyboard.press("Escape")
    assert page.locator("#suggestions").is_hidden()


def test_keys_lead_to_the_box_and_through_results(tab: Tab) -> None:
    page = tab.go("/search?q=rede")
    focused = "document.activeElement.textContent || document.activeElement.id"
    page.keyboard.press("j")
    assert page.evaluate(focused) == HITS[0].title
    page.keyboard.press("j")
    page.keyboard.press("ArrowDown")
    assert page.evaluate(focused) == HITS[2].title
    page.keyboard.press("k")
    assert page.evaluate(focused) == HITS[1].title
    page.keyboard.press("/")
    assert page.evaluate(focused) == "q"
    page.keyboard.type("j/k")
    assert page.input_value("#q") == "j/k"


def test_first_tab_key_offers_to_skip_to_the_content(tab: Tab) -> None:
    page = tab.go("/search?q=rede")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('href')") == "#content"


def click_everything(frame: Any) -> None:
    assert frame.locator("h1").inner_text() == "Kept words"
    for name in ("#away", "#code", "button"):
        frame.locator(name).click()


def heard(tab: Tab, listener: Listener) -> list[bytes]:
    """Return what the listener was asked for. A last question of our own shows that it hears; it comes last."""
    tab.context.request.get(f"http://127.0.0.1:{listener.port}/control")
    paths = [request.split()[1] for request in listener.requests]
    listener.requests.clear()
    return paths


def test_nothing_of_a_hostile_copy_runs_and_no_request_leaves(tab: Tab, listener: Listener) -> None:
    page = tab.go(f"/copy?url={HOSTILE}")
    click_everything(page.frame_locator("iframe"))
    inner = next(each for each in page.frames if "/copy/content" in each.url)
    assert inner.evaluate("document.documentElement.dataset.ran === undefined")
    assert "ran" not in page.title()
    tab.go(f"/copy/content?url={HOSTILE}")
    assert page.evaluate("document.documentElement.dataset.ran === undefined")
    assert heard(tab, listener) == [b"/control"]


def test_policy_and_frame_hold_what_was_not_taken_out(tab: Tab, listener: Listener) -> None:
    """The outer walls, tried without the first: the page as it came, with the headers of a copy.

    A browser opens connections ahead of time all the same, and asks nothing on them. That is what the first is for.
    """
    whole = TRICKS.format(listener=f"http://127.0.0.1:{listener.port}/")
    headers = {"content-type": "text/html", "content-security-policy": POLICY}
    tab.context.route("**/copy/content**", lambda route: route.fulfill(body=whole, headers=headers))
    page = tab.go(f"/copy?url={HOSTILE}")
    click_everything(page.frame_locator("iframe"))
    inner = next(each for each in page.frames if each.parent_frame is not None)
    assert inner.evaluate("document.documentElement.dataset.ran === undefined")
    assert "ran" not in page.title()
    assert listener.requests == []


@pytest.mark.parametrize("width", [320, 390])
def test_narrow_screen_needs_no_sideways_scrolling(browser: Any, site: Served, width: int) -> None:
    tab = Tab(browser, site, viewport={"width": width, "height": 700})
    widths = {path: tab.go(path).evaluate("document.documentElement.scrollWidth") for path in ALL_PAGES}
    assert {path: found for path, found in widths.items() if found > width} == {}
    tab.context.close()


def test_everything_works_without_javascript(browser: Any, site: Served) -> None:
    tab = Tab(browser, site, java_script_enabled=False)
    page = tab.go("/")
    page.fill("#q", "rede")
    page.get_by_role("button", name="Search").click()
    page.wait_for_url("**/search?q=rede")
    page.locator(".filters summary").click()
    page.get_by_label("Site").fill("porto.example")
    page.get_by_label("Language").select_option("pt")
    page.get_by_role("button", name="Apply").click()
    page.wait_for_url("**site=porto.example&language=pt**")
    assert site.search.requests[-1].site == "porto.example"
    page.get_by_role("link", name="Next").click()
    page.wait_for_url("**page=2**")
    assert page.locator(".results article").count() == 10
    tab.context.close()


def test_language_is_switched_by_a_link(tab: Tab) -> None:
    page = tab.go("/search?q=rede")
    page.get_by_role("link", name="Português").click()
    page.wait_for_url("**lang=pt**")
    assert page.get_by_role("button", name="Pesquisar").count() == 1
    assert page.input_value("#q") == "rede"


# For every reader.

UNNAMED = """
[...document.querySelectorAll('input:not([type=hidden]), select, button, iframe, a')].filter((each) =>
  !(each.labels && each.labels.length) && !each.textContent.trim() && !each.getAttribute('aria-label') && !each.title
).map((each) => each.outerHTML)
"""
LEVELS = "[...document.querySelectorAll('h1, h2, h3, h4')].map((each) => Number(each.tagName[1]))"
REPEATED = """
[...document.querySelectorAll('[id]')].map((each) => each.id).filter((each, place, all) => all.indexOf(each) !== place)
"""
FAINT = """
() => {
  const parsed = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((each) => each / 255)
    .map((each) => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4)
    .reduce((sum, each, place) => sum + each * [0.2126, 0.7152, 0.0722][place], 0);
  const ground = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const colour = parsed(getComputedStyle(at).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const node of document.querySelectorAll('body *')) {
    const isText = [...node.childNodes].some((each) => each.nodeType === 3 && each.textContent.trim());
    if (!isText || !node.getClientRects().length) continue;
    const [first, second] = [light(parsed(getComputedStyle(node).color)), light(ground(node))];
    const ratio = (Math.max(first, second) + 0.05) / (Math.min(first, second) + 0.05);
    if (ratio < 4.5) found.push(`${ratio.toFixed(2)} ${node.outerHTML.slice(0, 120)}`);
  }
  return found;
}
"""


def test_everything_has_a_name_and_headings_are_in_order(tab: Tab) -> None:
    for path in ALL_PAGES:
        page = tab.go(path)
        assert page.evaluate(UNNAMED) == []
        levels = page.evaluate(LEVELS)
        assert levels.count(1) == 1
        assert all(after <= before + 1 for before, after in itertools.pairwise([0, *levels]))
        assert page.locator("main").count() == page.locator("footer").count() == page.get_by_role("search").count() == 1
        assert page.locator("html").get_attribute("lang") == "en"
        assert page.locator("img:not([alt])").count() == 0
        assert page.evaluate(REPEATED) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_is_enough(browser: Any, site: Served, scheme: str) -> None:
    tab = Tab(browser, site, color_scheme=scheme)
    faint = {path: tab.go(path).evaluate(FAINT) for path in ALL_PAGES}
    assert {path: found for path, found in faint.items() if found} == {}
    is_dark = tab.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 25, 29)"
    assert is_dark == (scheme == "dark")
    tab.context.close()


def test_pages_ask_nobody_but_their_own_server(tab: Tab) -> None:
    for path in ALL_PAGES:
        tab.go(path)
    assert all(url.startswith(tab.site.url) for url in tab.asked)
    assert [each for each in tab.complaints if "404" not in each] == []
