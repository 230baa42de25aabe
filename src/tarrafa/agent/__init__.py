"""The agent: one process that joins the rooms into a crawl.

In: seeds, and a folder. Out: the folder, with archive, documents, links and repository. The life of a URL here:

1. A seed, or a link of a page, is judged by the scope (`discovery`) and added to `unsaved`: all that was found since
   the last checkpoint.
2. A checkpoint (`checkpoints`, `store`) makes all of it durable in one step: pages, documents, links, what changed
   about hosts (`host_table`, `host_database`), and a batch of URLs (`url_batches`).
3. A cycle of the repository verifies the batches and schedules what is fresh. The `frontier` takes as many URLs into
   memory as the workbench can use soon.
4. The workbench names the next visit. `visits` requests robots.txt first if it is not known, ends what is disallowed,
   and instructs the `loop` to fetch the rest.
5. `ingest` decodes and parses the page (`page_reader`), in micro-batches or, if it is expensive, in another process.
   In one step it ends the visit, appends the page to the archive, and adds its links to `unsaved`.

`brain` assembles what decides: host table, workbench, frontier, visits. It is pure: events and the time in,
instructions out. So a test runs a whole crawl on virtual time, without sockets, files or threads.

Two threads. The event loop owns the brain, the transport, the archive and `unsaved`. The checkpoint thread owns
documents, links, batches, the host database and the repository. A checkpoint takes the whole `Unsaved`, and the loop
goes on with a new one, so fetching waits for the disk only when checkpoints fall far behind.

The archive is the journal. After a kill, pages after the last checkpoint are read back from it instead of being fetched
again. Recovery is the normal start.

Collected pages are visited again if the run is to: a look (`refresh_looks`, in the checkpoint thread) reads the
histories of a block and chooses the pages that are worth a visit (`refresher`). They wait in the `refresh_queue` of the
frontier, and take turns with the URLs of their host that were never visited.

Not done here: choosing between agents (there is one), indexing.
"""

from tarrafa.agent.brain import Brain, Policies, make_brain
from tarrafa.agent.budgets import CrawlLimits
from tarrafa.agent.checkpoints import Checkpoints
from tarrafa.agent.discovery import Follow
from tarrafa.agent.folder import CrawlFolder
from tarrafa.agent.frontier import Frontier
from tarrafa.agent.hooks import CrawlHooks, HookedPage
from tarrafa.agent.host_database import (
    Checkpoint,
    FileHostJournal,
    HostDatabase,
    HostDatabaseReader,
    checkpoint_of,
    host_in,
    journal_records,
)
from tarrafa.agent.host_table import LARGEST, HostChanges, HostRecord, HostStatus, HostTable
from tarrafa.agent.ingest import Ingest
from tarrafa.agent.loop import Agent
from tarrafa.agent.outcomes import EXCLUDED, Outcome, outcome_of, reason_of
from tarrafa.agent.page_reader import DecodedPage, PageReader, ParsedPage
from tarrafa.agent.progress import Ending, Progress, RunLimits, read_ending
from tarrafa.agent.refresh_looks import RefreshLooks
from tarrafa.agent.refresh_record import continue_round, end_round, read_round, touch_round
from tarrafa.agent.refresher import RefreshIntervals, RefreshMode, RefreshSettings
from tarrafa.agent.refreshes import Refreshes
from tarrafa.agent.step_times import CrawlStep, StepTimes, spent_seconds
from tarrafa.agent.store import Store, Weighing
from tarrafa.agent.unsaved import CHANGED, REFRESHES, Totals
from tarrafa.agent.url_batches import is_offered
from tarrafa.agent.url_cleaner import DroppedParameters, UrlCleaner

__all__ = [
    "CHANGED",
    "EXCLUDED",
    "LARGEST",
    "REFRESHES",
    "Agent",
    "Brain",
    "Checkpoint",
    "Checkpoints",
    "CrawlFolder",
    "CrawlHooks",
    "CrawlLimits",
    "CrawlStep",
    "DecodedPage",
    "DroppedParameters",
    "Ending",
    "FileHostJournal",
    "Follow",
    "Frontier",
    "HookedPage",
    "HostChanges",
    "HostDatabase",
    "HostDatabaseReader",
    "HostRecord",
    "HostStatus",
    "HostTable",
    "Ingest",
    "Outcome",
    "PageReader",
    "ParsedPage",
    "Policies",
    "Progress",
    "RefreshIntervals",
    "RefreshLooks",
    "RefreshMode",
    "RefreshSettings",
    "Refreshes",
    "RunLimits",
    "StepTimes",
    "Store",
    "Totals",
    "UrlCleaner",
    "Weighing",
    "checkpoint_of",
    "continue_round",
    "end_round",
    "host_in",
    "is_offered",
    "journal_records",
    "make_brain",
    "outcome_of",
    "read_ending",
    "read_round",
    "reason_of",
    "spent_seconds",
    "touch_round",
]
