"""Tell addresses of the public internet from those of private networks.

A crawler follows what strangers write, so it must know the addresses that they must not lead it to: its own machine,
its neighbours, the metadata service of its cloud.
"""

from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

# The only part of IPv6 that was ever assigned to the internet (RFC 4291). Everything else is local or reserved.
_GLOBAL_UNICAST = IPv6Network("2000::/3")
# A gateway forwards such a packet to the IPv4 address in its last 32 bits (RFC 6052).
_TRANSLATED = IPv6Network("64:ff9b::/96")


@lru_cache(maxsize=1 << 14)
def parse_address(text: str) -> IPv4Address | IPv6Address | None:
    """Parse an address, with or without the brackets of IPv6 in a URL; return None for a name."""
    try:
        return ip_address(text.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None


@lru_cache(maxsize=1 << 14)
def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Return True for the public internet: not loopback, private, link-local, reserved or multicast."""
    if isinstance(address, IPv4Address):
        return address.is_global and not (address.is_multicast or address.is_reserved)
    inner = _inner_address(address)
    return is_public(inner) if inner else address in _GLOBAL_UNICAST and address.is_global


def _inner_address(address: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address that a packet to this address reaches in the end, if there is one."""
    if address in _TRANSLATED:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour
