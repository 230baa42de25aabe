"""Raise the limit of open files and sockets. Systems allow few until a process asks for more."""

import resource


def allow_open(wanted_count: int) -> int:
    """Raise the limit to `wanted_count` if it is lower; return the limit, which may still be lower."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return wanted_count
    if soft < wanted_count:
        soft = wanted_count if hard == resource.RLIM_INFINITY else min(wanted_count, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return soft
