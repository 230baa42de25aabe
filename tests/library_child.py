"""A program that uses the library and is killed, or that runs in a process without anything else.

It reads what to do from its arguments: a folder, and the URL of a web.
"""

import sys

import tarrafa

crawl = tarrafa.Crawl(
    sys.argv[2], dir=sys.argv[1], scope="any", allow_private=True, delay=0, address_delay=0, checkpoint="1h"
)


@crawl.on_page
def keep(page: tarrafa.CrawledPage) -> None:
    page.fields["length"] = len(page.text)
    sys.stdout.write(f"{page.url}\n")
    sys.stdout.flush()


# No guard for __main__, as in many scripts.
crawl.run()
