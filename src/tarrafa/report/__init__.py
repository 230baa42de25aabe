"""What is in the collection, in numbers?

In: the folder of a crawl, whether it runs or not. Out: a `Report`, as one object for JSON, as sections with tables for
a terminal, and as one HTML page with plots.

1. `making` goes over each part once. `documents` reads the columns that it needs, never the texts; `hosts` reads the
   book of hosts, `states` the repository's manifest, `space` the sizes of files. Ranks are shown if they are there.
2. What is counted has a bound, whatever the web sends: `tally` for texts, `spread` for sizes and times, `timeline` for
   what came when, `copies` for contents.
3. `sections` puts it into words; texts from outside become printable and short there.
4. `page` writes the sections as HTML, with plots by `svg`.

Not done here: changing anything in the folder, holding it, or reading pages from the archive.
"""

from tarrafa.report.making import Report, make_report
from tarrafa.report.page import html_page
from tarrafa.report.sections import Section, sections_of

__all__ = ["Report", "Section", "html_page", "make_report", "sections_of"]
