"""`tarrafa web`: serve the synthetic web."""

import json
from dataclasses import asdict
from typing import Annotated, Any

import typer
import uvloop

from tarrafa.cli.common import configured, option, switch
from tarrafa.configuration import Configuration
from tarrafa.lab.web import Plan, ServingOptions, SyntheticServer, parse_faults, run_server
from tarrafa.units import parse_duration
from tarrafa.wiring import read_text

EXAMPLES = [
    ("tarrafa web", "serve 100 hosts and 5,000 pages, first http://127.0.0.1:8800/, until Ctrl-C"),
    ("tarrafa web --hosts 2000 --pages 100000 --rng-seed 7", "a larger web, with another random seed"),
    ("tarrafa web --faults hostile", "a web with every fault"),
    ("tarrafa web --faults slow,busy --speed 3600", "two faults; pages change by an hour each second"),
    ("curl 'http://127.0.0.1:8800/__truth?summary'", "show the truth about it, from another terminal"),
]


def command(
    context: typer.Context,
    hosts: Annotated[int | None, option("web.hosts")] = None,
    pages: Annotated[int | None, option("web.pages")] = None,
    rng_seed: Annotated[int | None, option("web.rng_seed")] = None,
    port: Annotated[int | None, option("web.port")] = None,
    faults: Annotated[str | None, option("web.faults")] = None,
    names: Annotated[bool | None, option("web.names")] = None,
    speed: Annotated[float | None, option("web.speed")] = None,
    delay: Annotated[str | None, option("web.delay")] = None,
    log_size: Annotated[int | None, option("web.log_size")] = None,
    latency: Annotated[str | None, option("web.latency")] = None,
    time: Annotated[str | None, typer.Option(metavar="DURATION", help="stop after this long")] = None,
    as_json: Annotated[
        bool, switch("--json", "print one JSON object when the web is ready, and one at the end")
    ] = False,
) -> None:
    """Serve a synthetic web on loopback. Every host has its own address, from 127.0.0.1 on."""
    flags = {
        "web.hosts": hosts,
        "web.pages": pages,
        "web.rng_seed": rng_seed,
        "web.port": port,
        "web.faults": faults,
        "web.names": names,
        "web.speed": speed,
        "web.delay": delay,
        "web.log_size": log_size,
        "web.latency": latency,
    }
    configuration = configured(context, flags)
    plan, habits = synthetic_web(configuration)
    seconds = None if time is None else parse_duration(time)
    server = uvloop.run(run_server(plan, habits, _announce_json if as_json else _announce, seconds))
    report = server.journal.report(entries=0)
    if as_json:
        _echo_json(_totals(report))
    else:
        typer.echo(_closing(report))


def _announce(server: SyntheticServer) -> None:
    plan = server.web.plan
    typer.echo(f"Serving {plan.hosts:,} hosts and {plan.pages:,} pages at {server.web.front}")
    typer.echo(f"Truth: {server.web.front}__truth, log: {server.web.front}__log. Press Ctrl-C to stop.")


def _announce_json(server: SyntheticServer) -> None:
    plan: dict[str, Any] = asdict(server.web.plan)
    _echo_json({"url": server.web.front, **plan, "faults": sorted(server.web.plan.faults)})


def _echo_json(value: dict[str, Any]) -> None:
    """Print JSON on one line, so that a script can read the first object before the second is written."""
    typer.echo(json.dumps(value))


def _totals(report: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in report.items() if name not in ("by_host", "entries")}


def _closing(report: dict[str, Any]) -> str:
    return (
        f"{report['requests']:,} requests to {report['hosts']:,} hosts: {report['pages']:,} pages, "
        f"{report['too_early']:,} too early, {report['robots_violations']:,} against robots.txt, "
        f"{report['malformed']:,} malformed"
    )


def synthetic_web(configuration: Configuration) -> tuple[Plan, ServingOptions]:
    """Return the synthetic web that the configuration describes, and how to serve it."""
    section = configuration.web
    plan = Plan(
        hosts=section.hosts,
        pages=section.pages,
        rng_seed=section.rng_seed,
        port=section.port,
        names=section.names,
        faults=read_text(configuration, "web.faults", parse_faults),
    )
    return plan, ServingOptions(section.speed, section.delay_seconds, section.log_size, section.latency_seconds)
