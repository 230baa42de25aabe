"""How far a URL is from the seeds: links from a seed, and of these the last ones that lead outside the scope.

Both stand in one number of 32 bits, the hops above the depth. So the lowest number is the nearest way, the repository
keeps it as it keeps a depth, and URLs within the scope come before those outside.
"""

_DEPTH_BITS = 24
DEPTH_LIMIT = (1 << _DEPTH_BITS) - 1  # as deep as the repository can tell: no limit
HOPS_MAX = (1 << 8) - 1
# From here nothing outside the scope is within reach: of seeds, and of sitemaps that a robots.txt names.
FROM_OUTSIDE = HOPS_MAX << _DEPTH_BITS


def depth_of(distance: int) -> int:
    return distance & DEPTH_LIMIT


def hops_of(distance: int) -> int:
    """Return how many links lead from the last page within the scope to the URL; 0 for one that is within."""
    return distance >> _DEPTH_BITS


def distance_of(depth: int, hops: int = 0) -> int:
    return min(hops, HOPS_MAX) << _DEPTH_BITS | min(depth, DEPTH_LIMIT)


def one_link_further(distance: int) -> int:
    """Return the distance of what a page links to, with the hops of the page."""
    return distance if depth_of(distance) == DEPTH_LIMIT else distance + 1
