"""From the configuration to the objects that do the work: only this file knows which implementation stands where."""

from tarrafa.configuration import KEYS, Configuration
from tarrafa.errors import ConfigurationError, InputError
from tarrafa.fetch import CurlTransport, Resolver
from tarrafa.records import Transport
from tarrafa.simulate.web import Fault, Habits, Plan, parse_faults


def transport(configuration: Configuration, resolver: Resolver | None = None) -> Transport:
    """The real web, or with a resolver of your own the part of it that your names lead to."""
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
        faults=_faults(configuration),
    )
    return plan, Habits(section.speed, section.delay_seconds, section.log_size)


def _faults(configuration: Configuration) -> frozenset[Fault]:
    """The names of faults belong to the synthetic web, so only here is it found that one of them is wrong."""
    try:
        return parse_faults(configuration.web.faults)
    except InputError as error:
        origin = configuration.origin(KEYS["web.faults"])
        raise ConfigurationError(f"{origin.removeprefix('file ')}: [web] faults: {error}") from error
