import string
import tomllib

from hypothesis import given
from hypothesis import strategies as st

from tarrafa.configuration.toml_lines import locate_keys

TRICKY = '''# timeout = "comment"
title = "x"        # 2
[ fetch ]          # 3
note = """
timeout = 1        # inside a text
[web]
"""
"timeout" = "5s"   # 8
'body_limit' = '\\' # 9: a literal string ends at its quote
inline = { a = 1, "b.c" = "}", d = { e = [1, { f = 2 }] } }  # 10
list = [           # 11
  "[log]", # timeout = 2
  { deep = 1 },
]
x . y = 1979-05-27 07:32:00.5  # 15
[web.inner]        # 16
hosts = """ends with quotes"""""
[[table]]          # 18
k = \'\'\'it\'s\'\'\'
'''


def test_lines_are_found_past_everything_that_only_looks_like_a_key() -> None:
    tomllib.loads(TRICKY)
    lines = locate_keys(TRICKY)
    assert lines[("title",)] == 2
    assert lines[("fetch",)] == 3
    assert lines[("fetch", "timeout")] == 8
    assert lines[("fetch", "body_limit")] == 9
    assert lines[("fetch", "inline", "b.c")] == 10
    assert lines[("fetch", "inline", "d", "e")] == 10
    assert lines[("fetch", "list")] == 11
    assert lines[("fetch", "x", "y")] == 15
    assert lines[("web", "inner")] == 16
    assert lines[("web", "inner", "hosts")] == 17
    assert lines[("table", "0", "k")] == 19
    assert ("web", "timeout") not in lines
    assert ("log",) not in lines


def test_windows_line_ends_count_once() -> None:
    assert locate_keys("[web]\r\n\r\nhosts = 1\r\n")[("web", "hosts")] == 3


NAMES = st.text(string.ascii_letters + " .\"'#=[]", min_size=1, max_size=8)


def quoted_key(name: str) -> str:
    return '"{}"'.format(name.replace('"', '\\"'))


@given(st.dictionaries(NAMES, st.dictionaries(NAMES, st.text(string.printable.replace("\r", ""), max_size=20))))
def test_every_key_of_any_document_is_found(document: dict[str, dict[str, str]]) -> None:
    lines: list[str] = []
    expected: dict[tuple[str, ...], int] = {}
    for section, content in document.items():
        lines.append(f"[{quoted_key(section)}]  # {section}")
        expected[(section,)] = len(lines)
        for name, value in content.items():
            expected[(section, name)] = len(lines) + 1
            escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\x0b", "").replace("\x0c", "")
            lines.extend(f'{quoted_key(name)} = """{escaped}"""'.split("\n"))
    text = "\n".join(lines)
    tomllib.loads(text)
    assert locate_keys(text) == expected
