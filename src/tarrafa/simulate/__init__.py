"""A made-up world in which the production code runs.

In: a seed. Out: a web that behaves like the real one, over sockets or in memory, and the whole truth about it. What
is tested or measured against it can be checked to the last URL. See `simulate.web`.

Not here: anything that a crawl of the real web needs. Other rooms do not know that this one exists.
"""
