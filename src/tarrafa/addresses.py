"""Which IP addresses belong to the open web, and which to somebody's own network.

A crawler is led by what strangers write, so it must know the addresses that strangers must not lead it to: its own
machine, its neighbours, the metadata service of its cloud.
"""

from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

# All that was ever given out for the internet (RFC 4291); whatever lies outside is local or reserved.
_GLOBAL_UNICAST = IPv6Network("2000::/3")
# A gateway takes such a packet to the IPv4 address in its last 32 bits (RFC 6052).
_TRANSLATED = IPv6Network("64:ff9b::/96")


@lru_cache(maxsize=1 << 14)
def parse_address(text: str) -> IPv4Address | IPv6Address | None:
    """An address literal, also in the brackets that a URL puts around IPv6; `None` for a name."""
    try:
        return ip_address(text.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Whether the address is on the open internet: not loopback, private, link-local, reserved or multicast."""
    if isinstance(address, IPv4Address):
        return address.is_global and not (address.is_multicast or address.is_reserved)
    inner = _carried(address)
    return is_public(inner) if inner else address in _GLOBAL_UNICAST and address.is_global


def _carried(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that the packet reaches in the end, if there is one inside."""
    if address in _TRANSLATED:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour
