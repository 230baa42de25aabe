"""Templates that speak one language: what they say is put into them once, when they are compiled, not for every page.

    {{ say("more_of_site", site=hit.site) }}    becomes    More of {{ hit.site }}

The words are escaped here and what stands between them when it is shown, so that a page is the same to the letter.
Where the text depends on the page, as in `say("outcome_" ~ name)`, it is looked up when the page is made.
"""

import string
from collections.abc import Iterable
from typing import Any

from jinja2 import Environment, nodes
from jinja2.visitor import NodeTransformer
from markupsafe import escape

from tarrafa.serve.languages import Words


class SpeakingEnvironment(Environment):
    """One for each language."""

    def __init__(self, words: Words, **options: Any) -> None:
        super().__init__(**options)
        self._words = words

    def _generate(
        self, source: nodes.Template, name: str | None, filename: str | None, defer_init: bool = False
    ) -> str:
        """The place that jinja2 keeps for this: between reading a template and compiling it."""
        spoken = _Wording(self._words).visit(source)
        return super()._generate(spoken, name, filename, defer_init)


class _Wording(NodeTransformer):
    def __init__(self, words: Words) -> None:
        self._words = words

    def visit_Output(self, node: nodes.Output) -> nodes.Output:  # noqa: N802 - jinja2 looks for this name
        node.nodes = [part for each in node.nodes for part in self._spoken(each)]
        return node

    def _spoken(self, shown: nodes.Expr) -> Iterable[nodes.Expr]:
        key = _said(shown)
        if key is None:
            return [shown]
        assert isinstance(shown, nodes.Call)
        return self._parts(key, {each.key: each.value for each in shown.kwargs})

    def _parts(self, key: str, values: dict[str, nodes.Expr]) -> Iterable[nodes.Expr]:
        for text, name, _, _ in string.Formatter().parse(self._words.text(key)):
            yield nodes.TemplateData(str(escape(text)))
            if name is not None:
                yield values[name]


def _said(shown: nodes.Expr) -> str | None:
    """The name of a text, if that is all that is shown here."""
    match shown:
        case nodes.Call(node=nodes.Name(name="say"), args=[nodes.Const(value=str(key))]):
            return key
    return None
