"""How many files and connections this process may have open at once. Systems allow few until one asks for more."""

import resource


def allow_open(wanted_count: int) -> int:
    """Ask for as many, if fewer are allowed; how many are now, which may still be fewer."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return wanted_count
    if soft < wanted_count:
        soft = wanted_count if hard == resource.RLIM_INFINITY else min(wanted_count, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return soft
