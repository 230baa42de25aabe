"""What can a user type?

In: arguments. Out: the requested data on standard output, everything else on standard error, and an exit code: 0 done,
1 the work failed, 2 the input was wrong, 130 interrupted. An error is one line that says what to do; `--debug` adds the
traceback.

`app` lists the commands and turns errors into exit codes, and each command is a module with a `command` and its
`EXAMPLES`. `common` has what they share, `progress_view` shows a crawl (`live_view`: its lines in a terminal,
`slowness`: why it is slow), and `companions` runs the search page beside one. Not here: any work. A command reads the
configuration, gets the objects that do the work from `wiring`, and shows the result.
"""

from tarrafa.cli.app import main

__all__ = ["main"]
