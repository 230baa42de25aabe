"""From the configuration to the objects that do the work: only this file knows which implementation stands where."""

from collections.abc import Callable
from typing import TypeVar

from tarrafa.configuration import KEYS, Configuration
from tarrafa.errors import ConfigurationError, InputError
from tarrafa.fetch import CurlTransport, Resolver, Types, parse_proxy
from tarrafa.simulate.web import Habits, Plan, parse_faults

T = TypeVar("T")


def transport(configuration: Configuration, resolver: Resolver | None = None) -> CurlTransport:
    """The real web, or with a resolver of your own the part of it that your names lead to."""
    _read(configuration, "fetch.types", Types)
    _read(configuration, "fetch.proxy", parse_proxy)
    return CurlTransport(configuration.fetch, configuration.crawl, resolver)


def web(configuration: Configuration) -> tuple[Plan, Habits]:
    """The synthetic web that the configuration describes, and how it is to be served."""
    section = configuration.web
    plan = Plan(
        hosts=section.hosts,
        pages=section.pages,
        rng_seed=section.rng_seed,
        port=section.port,
        names=section.names,
        faults=_read(configuration, "web.faults", parse_faults),
    )
    return plan, Habits(section.speed, section.delay_seconds, section.log_size)


def _read(configuration: Configuration, path: str, read: Callable[[str], T]) -> T:
    """A text whose meaning belongs to a room; so only here is it found that it is wrong."""
    key = KEYS[path]
    try:
        return read(configuration.value(key))
    except InputError as error:
        origin = configuration.origin(key)
        raise ConfigurationError(f"{origin.removeprefix('file ')}: [{key.section}] {key.name}: {error}") from error
