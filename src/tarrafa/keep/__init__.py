"""Where do pages stay, and how are they read back?

In: pages as they were fetched, and what was found in them: documents and links. Out: an archive (WARC), documents and
links (Parquet) in one folder for each agent; any page by its place; exports in the formats of other tools.

The life of a page here:

1. `archive` appends it as records, which `warc` formats and `gzip_members` compresses, and returns its `Place`. A body
   that was stored recently is stored as a reference to the first one.
2. `row_writers` buffers the rows of its document and links in memory, within bounds.
3. At a checkpoint the owner syncs the archive and gets its end, syncs the rows under the checkpoint's number, and then
   commits number and end in a file of its own. Nothing counts before that commit.
4. After a kill the owner opens everything with the number and the end that it committed last. What was written later is
   cut off, so nothing is stored twice and nothing that was committed is lost. This is the normal way to start.
5. `segment_writer` joins small files of rows into larger ones in the background. `segment_reader` reads rows, also
   only those that were added since the last time.
6. `finder` finds the rows of a URL by the `catalogue` of each segment, a `column_file` that is made on first use and
   can be made again.
7. `archive_reader` reads a page by its place; `export` writes everything into one file, `cdxj` its index.

A crawl does not use `finder` and `export`; import these modules by name.

Not done here: choosing what to store, finding the place of a URL (the repository knows it), decoding bodies, committing
checkpoints, locking the folder.
"""

from tarrafa.keep.archive import Archive, ArchiveSettings, PackedPage, StoredAt, open_archive
from tarrafa.keep.archive_files import BEGINNING, Place
from tarrafa.keep.archive_reader import StoredPage, read_page, read_pages, read_whole_pages
from tarrafa.keep.head_reader import HeadReader, StoredHead
from tarrafa.keep.row_writers import (
    DOCUMENTS,
    LINKS,
    DocumentRow,
    DocumentWriter,
    FieldValue,
    Link,
    LinkWriter,
    field_types,
)
from tarrafa.keep.segment_reader import count_rows, read_batches
from tarrafa.keep.segment_writer import join_segments
from tarrafa.keep.warc import Original, digest_of

__all__ = [
    "BEGINNING",
    "DOCUMENTS",
    "LINKS",
    "Archive",
    "ArchiveSettings",
    "DocumentRow",
    "DocumentWriter",
    "FieldValue",
    "HeadReader",
    "Link",
    "LinkWriter",
    "Original",
    "PackedPage",
    "Place",
    "StoredAt",
    "StoredHead",
    "StoredPage",
    "count_rows",
    "digest_of",
    "field_types",
    "join_segments",
    "open_archive",
    "read_batches",
    "read_page",
    "read_pages",
    "read_whole_pages",
]
