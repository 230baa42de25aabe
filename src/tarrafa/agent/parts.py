"""What an agent is made of."""

from dataclasses import dataclass
from typing import NamedTuple

from tarrafa.agent.memory import HostMemory
from tarrafa.agent.reading import Reading
from tarrafa.agent.robots import Robots
from tarrafa.agent.rounds import Rounds
from tarrafa.agent.supply import Supply
from tarrafa.clock import Clock
from tarrafa.keep import Archive
from tarrafa.records import Transport
from tarrafa.schedule import Workbench


class Manners(NamedTuple):
    """How far an agent goes."""

    in_flight: int = 300  # visits at the same time
    hosts: int | None = None  # when so many were met, no others are
    host_pages: int = 100_000
    own_hosts: frozenset[str] = frozenset()  # by name
    allow_private: bool = False
    has_contact: bool = False  # without one, hosts of the public web are left alone


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything that the loop owns; the keeper's thread is behind `rounds`."""

    bench: Workbench
    web: Transport
    robots: Robots
    reading: Reading
    archive: Archive
    rounds: Rounds
    supply: Supply
    memory: HostMemory
    clock: Clock
    manners: Manners
