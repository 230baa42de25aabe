"""Every bound of the room in one place. What lies beyond one is left out; nothing is refused for it."""

# What a page gives.
LINKS_LIMIT = 5_000  # hrefs read from one page
LISTED_LIMIT = 50_000  # URLs of one sitemap or feed: what the protocol of sitemaps allows
HEADINGS_LIMIT = 100
ROBOTS_LIMIT = 50  # pairs of robots-like meta elements
META_LIMIT = 200  # meta elements kept to look for a description and dates
HEADER_LINKS_LIMIT = 50  # links in the HTTP header
SRCSET_LIMIT = 20  # images of one srcset

# How long each may be, in characters.
ANCHOR_CHARS = 200
TITLE_CHARS = 500
DESCRIPTION_CHARS = 1_000
HEADING_CHARS = 300
ROBOTS_CHARS = 500
REL_CHARS = 100
HREF_CHARS = 8_000  # of a refresh or srcset; longer addresses are no URLs anyway
TEXT_CHARS = 200_000  # of a document
LANGUAGE_CHARS = 600  # shown to the detector of languages

# How much of a page is looked at, in bytes.
PRESCAN_BYTES = 1_024  # for a declared encoding, as the HTML standard says
SNIFF_BYTES = 1_024  # to tell what format it is
SIMILARITY_BYTES = 8_192  # of the folded text, for the similarity hash
DETECT_BYTES = 16_384  # shown to the detector of encodings
UNPACKED_LIMIT_BYTES = 16_000_000  # of a sitemap that is a gzip file

# The tree builder's cost grows with the square of these; see `tame`.
TAG_BYTES = 2_048  # tags up to this length have too few attributes to matter,
LONG_TAGS = 48_000_000  # if their length times that of the page is within this too
CALM_TAGS = 600  # and with this many tags no nesting that does
PIECE_TAGS = 5_000  # a page with more is parsed in pieces
PIECES_LIMIT = 20
ATTRIBUTES_LIMIT = 100  # of one tag, in pages that may have longer ones
REBUILT_LIMIT = 1_000_000  # elements that unclosed formatting may make the tree builder repeat
