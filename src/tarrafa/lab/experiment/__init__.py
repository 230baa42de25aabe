"""What the papers claim, computed or measured again, beside their own figures.

In: the parameters of an experiment. Out: rows of a table, each with the paper's figure where there is one. An
experiment is asked for by name, `tarrafa experiment NAME`.

Not here: the things that are measured. Those stand in their rooms, and production uses the same.
"""

from tarrafa.lab.experiment.cost_model import ModelCosts, ModelParameters, table

__all__ = ["ModelCosts", "ModelParameters", "table"]
