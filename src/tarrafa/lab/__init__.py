"""The laboratory: what compares and what pretends. A crawl of the real web needs none of it.

`web` is a synthetic web that follows from a seed, served over sockets or from memory, with the whole truth about it.
`engines` holds the uniqueness engines that the papers compare, behind the contract of `verify`.
`experiment` computes or measures the papers' claims again.

The product never imports this package. Only the command line does, and import-linter checks it.
"""
