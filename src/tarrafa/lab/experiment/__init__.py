"""The papers' claims, computed or measured again, beside their own figures.

In: the parameters of an experiment. Out: rows of a table, each with the paper's figure if there is one. `tarrafa
experiment NAME` runs an experiment.

    cost_model        Table 2 of the VEUNIQ paper, from its equations
    uniqueness        the cost of a cycle as the repository grows, over a `url_stream`; `papers` compares it
    parameter_study   the effect of block size, batch size and run ratio on VEUNIQ
    steadiness        the rate of a long crawl from its start to its end
    order_study       how fast each policy of crawl.order collects PageRank and hosts
    measurement       CPU, bytes and memory of a piece of work
    plots             figures as PNG and SVG

Not here: the code that is measured. It lives in its room, and production uses the same.
"""

from tarrafa.lab.experiment.cost_model import ModelCosts, ModelParameters, table

__all__ = ["ModelCosts", "ModelParameters", "table"]
