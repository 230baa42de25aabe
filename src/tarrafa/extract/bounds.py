"""Every bound of the room in one place. What lies beyond a bound is left out; no page is refused for it.

If links, listed URLs, or the text, title, description or headings of a document are cut, the extract says so.
"""

from tarrafa.urls import URL_MAX_CHARS

# What a page gives.
LINKS_LIMIT = 200_000  # different targets of one page, without fragments
REPEATED_LINKS_LIMIT = 200_000  # further links of one page to the same targets
LISTED_LIMIT = 50_000  # URLs of one sitemap or feed: the limit of the sitemap protocol
HEADINGS_LIMIT = 100
ROBOTS_LIMIT = 50  # meta elements for robots
META_LIMIT = 200  # other meta elements
HEADER_LINKS_LIMIT = 50  # links in the HTTP header
SRCSET_LIMIT = 20  # images of one srcset

# How long each may be, in characters.
ANCHOR_CHARS = 200
TITLE_CHARS = 500
DESCRIPTION_CHARS = 1_000
HEADING_CHARS = 300
ROBOTS_CHARS = 500
REL_CHARS = 100
HREF_CHARS = URL_MAX_CHARS  # of a refresh or srcset
TEXT_CHARS = 200_000  # of a document
LANGUAGE_CHARS = 3_000  # given to the language detector

# How much of a page is looked at, in bytes.
PRESCAN_BYTES = 1_024  # for a declared encoding, by the HTML standard
SNIFF_BYTES = 1_024  # to recognise the format
SIMILARITY_BYTES = 8_192  # of the folded text, for the similarity hash
DETECT_BYTES = 16_384  # given to the encoding detector
UNPACKED_LIMIT_BYTES = 16_000_000  # of a sitemap that is a gzip file

# The tree builder's cost grows with the square of these: see `sanitize`.
TAG_BYTES = 1_024  # tags up to this length have too few attributes to matter,
LONG_TAGS = 500_000_000  # if their length times that of the page is within this too
CALM_TAGS = 600  # no nesting of this many tags matters
PIECE_TAGS = 5_000  # a page with more is parsed in pieces
PIECES_LIMIT = 200
OPEN_PIECES_LIMIT = 20  # of a page whose tags mostly stay open, which costs many times as much
ATTRIBUTES_LIMIT = 100  # of one tag, in pages that may have longer ones
REBUILT_LIMIT = 1_000_000  # elements that unclosed formatting may make the tree builder repeat

# From where on a body is expensive: see `is_expensive`.
CHEAP_BYTES = 10_000  # below this, nothing else matters
LARGE_BYTES = 500_000
MANY_TAGS = 25_000
FEW_TAGS, UNCLOSED_TAGS = 2_000, 1_000  # with more tags than the first, this many may stay open
WORDY_BYTES, MANY_WORDS = 50_000, 60_000
LARGE_SITEMAP_BYTES = 100_000  # of a gzip file, unpacked
