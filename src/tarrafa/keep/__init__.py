"""Where do pages stay, and how are they read back?

In: pages as they were fetched, and what was found in them: documents and links. Out: an archive (WARC), documents and
links (Parquet) in one folder for each agent; any page by its place; everything in the forms that others read.

The life of a page here:

1. `archive` appends it, as records that `warc` writes and `members` compresses, and says at which `Place` it stands.
   Content that is there already, which `contents` remembers, is kept as a note that refers to it.
2. `documents` and `links` gather its rows in memory, within bounds.
3. At a checkpoint the owner syncs the archive and gets its end, syncs the rows under the checkpoint's number, and then
   commits number and end in a file of its own. Not before that has any of it happened.
4. After a kill the owner opens everything with the number and the end that it committed last. What was written after
   them is cut off, so nothing is there twice, and what was committed is there. This is the normal way to start.
5. `segments` joins small files of rows into larger ones, in the background; `added` finds the rows that one has not
   seen yet.
6. `finding` finds the rows of a URL, by a `catalogue` of each segment, which is made when it is first needed and can be
   made again.
7. `read` finds a page by its place; `export` writes everything into one file.

A crawl has no use for `finding` and `export`, and begins sooner without them: whoever wants them names them.

Not done here: choosing what is kept, finding the place of a URL (the repository knows it), undoing content codings,
committing checkpoints, keeping a second process out of the folder.
"""

from tarrafa.keep.archive import Archive, Habits, Kept, Packed, open_archive
from tarrafa.keep.documents import DOCUMENTS, DocumentRow, Documents
from tarrafa.keep.links import LINKS, Link, Links
from tarrafa.keep.places import BEGINNING, Place
from tarrafa.keep.read import StoredPage, pages, read_page, whole_pages
from tarrafa.keep.segments import batches, count_rows, join_segments
from tarrafa.keep.warc import Original

__all__ = [
    "BEGINNING",
    "DOCUMENTS",
    "LINKS",
    "Archive",
    "DocumentRow",
    "Documents",
    "Habits",
    "Kept",
    "Link",
    "Links",
    "Original",
    "Packed",
    "Place",
    "StoredPage",
    "batches",
    "count_rows",
    "join_segments",
    "open_archive",
    "pages",
    "read_page",
    "whole_pages",
]
