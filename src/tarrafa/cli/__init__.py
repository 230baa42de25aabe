"""What a user types.

In: arguments. Out: what was asked for on standard output, everything else on standard error, and an exit code: 0 done,
1 the work failed, 2 the input was wrong, 130 interrupted. An error is one line that says what to do; `--debug` adds
where it came from.

`start` begins the process, `frame` holds what commands share, `run` lists the commands and turns errors into exit
codes, and each command is a module with a `command` and its `EXAMPLES`. Not here: any work. A command reads the
configuration, asks `wiring` for what does the work, and shows what came of it.
"""

from tarrafa.cli.start import main

__all__ = ["main"]
