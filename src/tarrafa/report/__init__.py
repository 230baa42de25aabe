"""What is in the collection, in numbers?

In: the folder of a crawl, whether it runs or not. Out: a `Report`, as one object for JSON, as sections with tables for
a terminal, and as one HTML page with plots.

1. `report` goes over each part once. `document_facts` reads the columns that it needs, never the texts; `host_facts`
   reads the database of hosts. States of URLs come from the repository, sizes from the files, ranks if there are any.
2. Everything is counted by `counters`, which use bounded memory.
3. `report_sections` turns the numbers into tables; texts from outside become printable and short there.
4. `true_freshness` asks a synthetic web through `web_truth`, if one is given, how fresh the copies are in truth.
5. `html_page` writes the sections as HTML, with plots as SVG.

Not done here: changing anything in the folder, locking it, or reading pages from the archive.
"""

from tarrafa.report.html_page import html_page
from tarrafa.report.report import Report, make_report
from tarrafa.report.report_sections import ReportSection, sections_of
from tarrafa.report.web_truth import SyntheticWebTruth, WebTruth

__all__ = ["Report", "ReportSection", "SyntheticWebTruth", "WebTruth", "html_page", "make_report", "sections_of"]
