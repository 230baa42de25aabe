"""Ends this process when its lease ends, also while it is stopped.

A web server cannot refuse a late request, so the request must not be sent. No check before a visit can ensure that: the
process may be stopped between the check and the write. A timer of the kernel can. Where the kernel has no such timer,
an alarm ends the process as soon as it is continued, before it runs.

Times are of `boot_seconds`, the clock that goes on while the machine is suspended.
"""

import contextlib
import ctypes
import os
import signal
import time
from typing import Protocol

_SIGEV_SIGNAL = 0
_TIMER_ABSTIME = 1
_NANO = 1_000_000_000


def boot_seconds() -> float:
    """Return the seconds since the machine was started, those in which it was suspended included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class LeaseTimer(Protocol):
    """Used by one thread."""

    def arm(self, at: float) -> None:
        """Let the process be killed at a time of `boot_seconds`, instead of the time that was set before."""
        ...

    def disarm(self) -> None:
        """Let the process live."""
        ...

    def close(self) -> None: ...


class _Interval(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class _TimerSetting(ctypes.Structure):
    _fields_ = (("interval", _Interval), ("value", _Interval))


class _SignalEvent(ctypes.Structure):
    # The structure of the kernel has 64 bytes; what follows the three fields is of no use here.
    _fields_ = (
        ("value", ctypes.c_void_p),
        ("signal", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("rest", ctypes.c_byte * 48),
    )


class KernelTimer:
    """A POSIX timer that kills. The signal cannot be caught, and reaches a stopped process."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None, use_errno=True)
        self._timer = ctypes.c_void_p()
        event = _SignalEvent(None, signal.SIGKILL, _SIGEV_SIGNAL)
        _check(self._library.timer_create(time.CLOCK_BOOTTIME, ctypes.byref(event), ctypes.byref(self._timer)))

    def arm(self, at: float) -> None:
        # At zero the kernel would disarm it.
        self._set(max(int(at * _NANO), 1))

    def disarm(self) -> None:
        self._set(0)

    def close(self) -> None:
        _check(self._library.timer_delete(self._timer))

    def _set(self, nanoseconds: int) -> None:
        setting = _TimerSetting(value=_Interval(*divmod(nanoseconds, _NANO)))
        _check(self._library.timer_settime(self._timer, _TIMER_ABSTIME, ctypes.byref(setting), None))


class AlarmTimer:
    """An alarm whose default is to end the process. It is delivered when a stopped process is continued."""

    def __init__(self) -> None:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)

    def arm(self, at: float) -> None:
        # At zero the alarm would be cancelled.
        signal.setitimer(signal.ITIMER_REAL, max(at - boot_seconds(), 1e-6))

    def disarm(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)

    def close(self) -> None:
        self.disarm()


class NoTimer:
    """The timer of an agent that is alone: its lease never ends."""

    def arm(self, at: float) -> None: ...

    def disarm(self) -> None: ...

    def close(self) -> None: ...


def lease_timer() -> LeaseTimer:
    """Return the timer of this machine: the kernel's if it has one."""
    with contextlib.suppress(OSError, AttributeError):
        return KernelTimer()
    return AlarmTimer()


def _check(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
