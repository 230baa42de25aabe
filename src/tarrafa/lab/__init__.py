"""The laboratory: a web to crawl, engines to compare with, and the experiments.

`web` is a synthetic web that follows from a seed, served over sockets or from memory, with the whole truth about it.
`engines` holds the uniqueness engines that the papers compare, behind the contract of `verify`.
`experiment` computes or measures the papers' claims again.

A crawl of the real web does not need any of it: only the command line imports this package, and import-linter checks
that.
"""
