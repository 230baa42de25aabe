"""The part of an agent that decides, assembled: no socket, no file, no thread, no clock.

A crawl builds it over the host table on disk and lets `loop` carry out its instructions. A simulation builds it over
memory and carries them out on virtual time.
"""

from collections.abc import Callable
from typing import NamedTuple

from tarrafa.agent.budgets import CrawlLimits
from tarrafa.agent.discovery import Discovery, Follow
from tarrafa.agent.frontier import Frontier
from tarrafa.agent.hooks import CrawlHooks
from tarrafa.agent.host_table import HostTable
from tarrafa.agent.mirror_watch import MirrorWatch
from tarrafa.agent.robots_cache import RobotsCache
from tarrafa.agent.trap_watch import TrapWatch
from tarrafa.agent.url_buffer import BUFFER_LIMIT
from tarrafa.agent.visits import Visits, is_address
from tarrafa.schedule import Order, Scope, Workbench


class Brain(NamedTuple):
    hosts: HostTable
    robots: RobotsCache
    workbench: Workbench
    frontier: Frontier
    visits: Visits
    discovery: Discovery


class Policies(NamedTuple):
    """What a user chooses about a crawl."""

    scope: Scope
    order: Order
    limits: CrawlLimits
    robots_token: str  # our name in robots.txt
    hooks: CrawlHooks | None = None
    is_watching_traps: bool = True
    follow: Follow = Follow.ALL


def make_brain(
    hosts: HostTable,
    workbench: Workbench,
    policies: Policies,
    buffer_limit: int = BUFFER_LIMIT,
    is_known: Callable[[str], bool] = is_address,  # True for a name that is resolved without a lookup
) -> Brain:
    scope, order, limits, token, hooks, is_watching, follow = policies
    robots = RobotsCache(hosts, token)
    frontier = Frontier(workbench, hosts, scope, order, limits, buffer_limit)
    watch = TrapWatch(hosts, token, is_on=is_watching)
    mirrors = MirrorWatch(hosts, is_on=is_watching)
    visits = Visits(frontier, workbench, hosts, robots, limits, watch, mirrors, is_known)
    referrers = None if limits.star_pages is None else frontier.budgets.referrers
    discovery = Discovery(scope, order, hooks, (watch, mirrors), referrers, follow)
    return Brain(hosts, robots, workbench, frontier, visits, discovery)
