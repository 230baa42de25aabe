"""A crawl's folder seen as a collection: what is made of all that its agents have kept.

In: the folder of a crawl, whether it runs or not. Out: more folders beside `agents/`, made from documents and links and
kept up with them: `ranking` makes the ranks of all, `indexing` an index for each agent.

Nothing here changes what the crawl keeps, and all of it can be made again from that.
"""
