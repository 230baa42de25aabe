"""The crawl: one agent that joins the rooms and keeps what they find.

In: seeds, and a folder. Out: the folder, with archive, documents, links and repository. The life of a URL here:

1. A seed, or a link of a page, that the scope allows is gathered. `gathering` holds what came since the last
   checkpoint.
2. A checkpoint (`keeper`) makes all that was gathered durable in one step: pages, documents, links, what hosts were
   like, and a batch of URLs.
3. A cycle of the repository verifies the batches. What is fresh is scheduled there, and `supply` takes as much of it
   into memory as the workbench can use soon.
4. The workbench names the visit whose turn it is. `robots` asks for robots.txt first where that is not known, and
   refuses what is not allowed, with a reason that is stored.
5. The page is fetched and read (`reading`), then appended to the archive and gathered (`landing`), both before anything
   else happens; all of it together with others that came at the same time. A large page is read in another process,
   and what a long sitemap lists is judged some at a time.

Two threads: the loop owns workbench, transport, robots, archive and what is being gathered; the keeper owns documents,
links, batches, hosts on disk and the repository. The loop hands over a whole `Gathering` and goes on with a new one, so
fetching waits for the disk only when the keeper falls far behind, and at the end of each file of the archive.

Whatever moment the process is killed, the archive is the journal: pages after the last checkpoint are read back from
there and gathered again, instead of being fetched again. Recovery is the normal start.

Not done here: choosing between agents (there is one), visiting pages again, indexing.
"""

from tarrafa.agent.folder import CrawlFolder
from tarrafa.agent.hosts import Host, HostBook, checkpoint_of, host_in
from tarrafa.agent.keeper import Keeper
from tarrafa.agent.loop import Agent, Limits
from tarrafa.agent.memory import HostMemory
from tarrafa.agent.outcomes import Outcome, reason_of
from tarrafa.agent.parts import Manners, Parts
from tarrafa.agent.progress import Ending, Progress
from tarrafa.agent.reading import Reading
from tarrafa.agent.robots import Robots
from tarrafa.agent.rounds import Rounds
from tarrafa.agent.supply import Supply

__all__ = [
    "Agent",
    "CrawlFolder",
    "Ending",
    "Host",
    "HostBook",
    "HostMemory",
    "Keeper",
    "Limits",
    "Manners",
    "Outcome",
    "Parts",
    "Progress",
    "Reading",
    "Robots",
    "Rounds",
    "Supply",
    "checkpoint_of",
    "host_in",
    "reason_of",
]
