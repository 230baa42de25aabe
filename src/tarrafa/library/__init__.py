"""What does a program of a user see?

In: seeds, a folder, settings and hooks, as Python objects. Out: a crawl that ran, its pages as they come, and a
`Collection` that is searched and read. `tarrafa/__init__.py` names what is public; everything else here may change.

    settings       keyword arguments to a configuration
    crawl_run      one run of a crawl in its folder; the command line uses it too
    crawl          `crawl` and `Crawl`: a crawl in a thread of its own
    page_stream    the pages of a running crawl, for `async for`
    hooks          functions of a user, and the file that holds them
    hook_runner    what the agent asks of hooks
    crawled_page   a page as a hook sees it
    collection     `Collection`: search, documents, links, pages and URLs of a crawl
    collected_page a page of a collection

A crawl has a thread with an event loop of its own, so that it runs the same in a script, in a notebook, and beside an
event loop of the program. Nothing here installs a signal handler, ends the process, writes to standard output, or
leaves a thread or process behind.

Not done here: choosing implementations (`wiring` does), any work of the rooms. This module imports nothing: the command
line uses parts of the room, and must not load the others.
"""
