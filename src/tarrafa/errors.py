"""Every error of our own. Errors of libraries and of the system are turned into one of these where they enter.

    TarrafaError              a message for the user, in one line, that says what to do
    ├── InputError            wrong input: exit code 2
    │   ├── ConfigurationError    in a configuration file or flag; names file, key, line
    │   ├── ContactMissingError   the user agent names no contact, and public hosts were to be visited
    │   └── LockedError             another process has locked the folder
    └── WorkError             the input was right and the work failed: exit code 1
        ├── PageMissingError      a crawl has no such page; the message says why
        └── DamagedError          a file is not what was written to it

Expected outcomes of the web (a 404, a time-out, a robots refusal) are values, never exceptions.
"""


class TarrafaError(Exception):
    """An error with a message for the user, in one line. The command line exits with `exit_code`."""

    exit_code = 1


class InputError(TarrafaError):
    """The input cannot be used; nothing was done."""

    exit_code = 2


class ConfigurationError(InputError):
    """A value of the configuration is unknown, of the wrong type, or out of its bounds."""


class ContactMissingError(InputError):
    """The user agent names no contact, so public hosts are not visited."""


class WorkError(TarrafaError):
    """The work could not be finished: the port is taken, the disk is full, the host does not answer."""


class PageMissingError(WorkError):
    """The crawl has no such page: it is unknown, was not visited yet, or failed."""


class LockedError(InputError):
    """Another process has locked the folder; two would destroy each other's work."""


class DamagedError(WorkError):
    """A file was cut or changed since it was written. The message names it; its contents are never used."""
