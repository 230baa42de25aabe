"""Why is this URL not fetched, and what holds the crawl back?

In: the files of a crawl, while it runs or later. Out: an `Explanation` of a URL or a host, or a `CrawlExplanation`.
Nothing is written or locked, so a running crawl is not disturbed; what it has not saved yet is not seen.

    evidence     what the files say about a URL or host, as records
    reader       reads them
    url_reasons  from the evidence of a URL to the first reason why it is not fetched, and the earliest moment
    refresh_reasons when a collected URL is visited again, and why then
    host_reasons the same for a host
    bottleneck   what limits a crawl now: which hosts hold it back, and what to change
    slowness     the same in one sentence, from the counters of a running crawl
    remedies     what to do about each reason

All but the reader is pure: evidence and the time in, explanation out.

Not done here: why a result is ranked where it is (`search`).
"""

from tarrafa.explain.bottleneck import CrawlExplanation, HoldingHost, explain_crawl
from tarrafa.explain.evidence import (
    FoundOn,
    HostDelay,
    HostEvidence,
    RefreshEvidence,
    RobotsEvidence,
    RunEvidence,
    UrlEvidence,
)
from tarrafa.explain.host_reasons import explain_host
from tarrafa.explain.reader import CrawlReader
from tarrafa.explain.url_reasons import Explanation, Verdict, explain_url

__all__ = [
    "CrawlExplanation",
    "CrawlReader",
    "Explanation",
    "FoundOn",
    "HoldingHost",
    "HostDelay",
    "HostEvidence",
    "RefreshEvidence",
    "RobotsEvidence",
    "RunEvidence",
    "UrlEvidence",
    "Verdict",
    "explain_crawl",
    "explain_host",
    "explain_url",
]
