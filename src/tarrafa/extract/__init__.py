"""What does a page say, and where does it lead?

In: a `Page`, and its body without content coding. Out: an `Extract`: the links with their anchor texts, the document
(title, text, language and what else is indexed), meta elements for robots, the URLs that a sitemap or feed lists.
The life of a page here:

1. `formats` recognises the format by the media type and the first bytes.
2. `charset` finds the encoding as browsers do: byte order mark, header, declaration, guess.
3. `sanitize` removes what would make the tree builder work for hours or fill the memory.
4. `html` parses HTML and walks once through the tree; `hrefs` knows which attributes lead to a page.
5. `document` puts together what is indexed; `signatures` makes the signature and the similarity hash.
6. `extraction` resolves the hrefs and returns the record. `sitemaps` reads sitemaps and feeds.

Beside that, `elements` finds elements by CSS selectors, for functions of a user, and `markdown` makes Markdown.

It never raises, whatever the bytes; every bound stands in `bounds`; the same input gives the same record, in any
process. `is_expensive` tells which bodies take long. Not done here: undoing the content coding, deciding which links to
follow (nofollow, scope, robots), obeying meta elements for robots, running scripts.
"""

from tarrafa.extract.bounds import LARGE_BYTES
from tarrafa.extract.charset import as_text, encoding_of
from tarrafa.extract.elements import Element, PageTree
from tarrafa.extract.extraction import extract, extract_all
from tarrafa.extract.markdown import markdown_of
from tarrafa.extract.records import (
    Cut,
    Document,
    Extract,
    ExtractOptions,
    Link,
    LinkKind,
    ListedUrl,
    ListedUrls,
    PageFormat,
    PageLinks,
)
from tarrafa.extract.sanitize import is_expensive
from tarrafa.extract.signatures import NEAR_BITS

__all__ = [
    "LARGE_BYTES",
    "NEAR_BITS",
    "Cut",
    "Document",
    "Element",
    "Extract",
    "ExtractOptions",
    "Link",
    "LinkKind",
    "ListedUrl",
    "ListedUrls",
    "PageFormat",
    "PageLinks",
    "PageTree",
    "as_text",
    "encoding_of",
    "extract",
    "extract_all",
    "is_expensive",
    "markdown_of",
]
