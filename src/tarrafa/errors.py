"""Every error of our own; what the outside raises is translated into one of these where it enters.

    TarrafaError              message for a person, in one line, that says what to do
    ├── InputError            the user's input is wrong: exit code 2
    │   ├── ConfigurationError    a configuration file or flag: names file, key, line
    │   ├── ContactMissingError   a public host was to be visited without saying who visits
    │   └── LockedError             another process works in the same folder
    └── WorkError             the input was right and the work failed all the same: exit code 1
        └── DamagedError          a file is not what was written to it

Expected outcomes of the web (a 404, a time-out, a robots refusal) are values, never exceptions.
"""


class TarrafaError(Exception):
    """Something to tell the user in one line; `exit_code` is what the command line ends with."""

    exit_code = 1


class InputError(TarrafaError):
    """What the user gave cannot be used; nothing was done."""

    exit_code = 2


class ConfigurationError(InputError):
    """A value of the configuration is unknown, of the wrong type, or out of its bounds."""


class ContactMissingError(InputError):
    """The user agent has no address to write to, so public hosts are not visited."""


class WorkError(TarrafaError):
    """The work could not be finished: the port is taken, the disk is full, the host does not answer."""


class LockedError(InputError):
    """Another process works in the folder; two would destroy each other's work."""


class DamagedError(WorkError):
    """A file of ours was cut or changed since it was written; it is named, and never taken for true."""
