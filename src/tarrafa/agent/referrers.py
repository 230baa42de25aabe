"""Which other sites link to a host: a set of fixed size for each host, that tells about how many there are.

Each site sets one of 256 bits of the hosts to which its pages link. As more bits are set, more sites hit one that is
set already, which the estimate takes into account (linear counting). A host that links to itself, or to others of its
site, gains nothing by that, and a site gains as much by one link as by a million.
"""

import math
from collections.abc import Callable, Iterable
from itertools import islice

from tarrafa.agent.saved_values import SavedValues
from tarrafa.urls import fingerprint, host_name, host_of, site

SET_BITS = 256
REFERRED_LIMIT = 1_000  # other hosts to which the links of one page count


class Referrers:
    def __init__(self, sets: SavedValues[int], admits: Callable[[str], bool]) -> None:
        self._sets = sets
        self._admits = admits

    def note(self, source: str, targets: Iterable[str]) -> None:
        """Note the links of a page."""
        own, own_site = f"{host_of(source)}/", site(host_name(source))
        bit = 1 << fingerprint(own_site) % SET_BITS
        hosts = dict.fromkeys(host_of(target) for target in targets if not target.startswith(own))
        for host in islice(hosts, REFERRED_LIMIT):
            if site(host_name(host)) != own_site and self._admits(host):
                known = self._sets.get(host)
                if not known & bit:
                    self._sets.put(host, known | bit)

    def count(self, host: str) -> int:
        """Return about how many other sites link to a host."""
        return estimated_count(self._sets.get(host))


def estimated_count(bits: int) -> int:
    """Return how many sites have probably set these bits."""
    unset = SET_BITS - bits.bit_count()
    return round(SET_BITS * math.log(SET_BITS / max(unset, 1)))
