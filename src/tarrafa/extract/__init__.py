"""What does a page say, and where does it lead?

In: a `Page`, and its body without content coding. Out: an `Extract`: the links with their anchor texts, the document
(title, text, language and what else is indexed), what the page says to robots, the URLs that a sitemap or feed lists.
The life of a page here:

1. `sniff` tells the format by the media type and the first bytes.
2. `charset` finds the encoding as browsers do: mark, header, declaration, guess.
3. `tame` takes out what would make the tree builder work for hours or fill the memory.
4. `walk` parses HTML and goes once through the tree; `hrefs` knows what leads somewhere, `blocks` what is main text.
5. `likeness` makes the signature and the similarity hash; `language` and `dates` read what was said, or guess.
6. `page` resolves the hrefs with `urls` and puts the record together. `listings` does the same for sitemaps and feeds.

It never raises, whatever the bytes; every bound stands in `bounds`; the same input gives the same record, in any
process. Not done here: undoing the content coding, deciding which links to follow (nofollow, scope, robots), obeying
what is said to robots, running scripts.
"""

from tarrafa.extract.charset import as_text, encoding_of
from tarrafa.extract.found import Document, Extract, Format, Link, LinkKind, Links, Listed, Listing, Options
from tarrafa.extract.likeness import NEAR_BITS
from tarrafa.extract.page import extract, extract_all, extracting

__all__ = [
    "NEAR_BITS",
    "Document",
    "Extract",
    "Format",
    "Link",
    "LinkKind",
    "Links",
    "Listed",
    "Listing",
    "Options",
    "as_text",
    "encoding_of",
    "extract",
    "extract_all",
    "extracting",
]
