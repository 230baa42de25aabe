"""What is made of all that the agents have stored?

In: the folder of a crawl, whether it runs or not. Out: ranks of all pages (`ranker`) and a full-text index for each
agent (`indexer`), made from documents and links and updated as these grow. `anchor_updates` finds the documents to
index again when new ranks bring other anchor texts. `lookups` finds what the agents know of one URL, `history` which of
its visits found new content. `retention` removes old versions.

Not done here: changing what the crawl has stored, but for old versions. Ranks and indexes can be made again from it at
any time.
"""

from tarrafa.collection.history import PastVisit

__all__ = ["PastVisit"]
