"""Functions of a user that see each page and each found URL, and the file of `--hooks` that holds them."""

import inspect
import sys
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from tarrafa.errors import InputError
from tarrafa.library.crawled_page import CrawledPage, FoundUrl
from tarrafa.texts import printable, quoted

PageHook = Callable[[CrawledPage], object]
UrlHook = Callable[[FoundUrl], bool]
# The names of functions that are hooks without a decorator.
PAGE_NAME, URL_NAME = "on_page", "on_url"

AnyFunction = TypeVar("AnyFunction", bound=Callable[..., Any])


class Hooks:
    """Hooks in the order in which they are called.

    hooks = tarrafa.Hooks()

    @hooks.on_page
    def keep(page):
        page.fields["price"] = page.select("span.price").text()

    @hooks.on_url
    def choose(url):
        return "/private/" not in url.path
    """

    def __init__(self) -> None:
        self.page_hooks: list[PageHook] = []
        self.url_hooks: list[UrlHook] = []

    def __bool__(self) -> bool:
        return bool(self.page_hooks or self.url_hooks)

    def on_page(self, hook: AnyFunction) -> AnyFunction:
        """Call the function with each page before it is stored."""
        self.page_hooks.append(_checked(hook))
        return hook

    def on_url(self, hook: AnyFunction) -> AnyFunction:
        """Call the function with each found URL that is in scope; the URL is visited if it returns True."""
        self.url_hooks.append(_checked(hook))
        return hook

    def extend(self, other: "Hooks") -> None:
        """Add the hooks of another object after these."""
        self.page_hooks += other.page_hooks
        self.url_hooks += other.url_hooks


def _checked(hook: AnyFunction) -> AnyFunction:
    name = getattr(hook, "__name__", repr(hook))
    if not callable(hook):
        raise InputError(f"{quoted(name)} is not a function; decorate one, without parentheses after the decorator")
    if inspect.iscoroutinefunction(hook) or inspect.isasyncgenfunction(hook):
        raise InputError(f"{quoted(name)} is asynchronous, and a hook is a plain function; use async for page in crawl")
    return hook


def load_hooks(path: Path) -> Hooks:
    """Run a Python file and return its hooks: `on_page`, `on_url`, and those of each `Hooks` or `Crawl` in it."""
    module = _run(path)
    found = Hooks()
    for value in _unique(vars(module).values()):
        own = value if isinstance(value, Hooks) else getattr(value, "hooks", None)
        if isinstance(own, Hooks):
            found.extend(own)
    for name, known, add in (
        (PAGE_NAME, found.page_hooks, found.on_page),
        (URL_NAME, found.url_hooks, found.on_url),
    ):
        hook = getattr(module, name, None)
        if inspect.isfunction(hook) and hook not in known:
            add(hook)
    if not found:
        raise InputError(f"{path} has no hook; define a function {PAGE_NAME}(page) or {URL_NAME}(url) in it")
    return found


def _unique(values: Any) -> list[object]:
    return list({id(value): value for value in values}.values())


def _run(path: Path) -> ModuleType:
    if not path.is_file():
        raise InputError(f"{path} is not a file; give --hooks a file with Python functions")
    name = f"tarrafa_hooks_{path.stem}"
    spec = spec_from_loader(name, SourceFileLoader(name, str(path)))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    # The file may import modules beside it, as a script may.
    sys.path.insert(0, str(path.resolve().parent))
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InputError(f"{path}: {described(error, str(path))}; correct the file, then run again") from error
    return module


def described(error: BaseException, file: str) -> str:
    """Return an error in one line, with the last line of the file that took part in it."""
    line = error.lineno if isinstance(error, SyntaxError) else None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            line = trace.tb_lineno
        trace = trace.tb_next
    text = printable(f"{type(error).__name__}: {error}")
    return text if line is None else f"line {line}: {text}"
