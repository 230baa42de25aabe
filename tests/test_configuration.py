import tomllib
from contextlib import suppress
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.configuration import (
    KEYS,
    Configuration,
    FetchSection,
    Key,
    load,
    to_crawl_toml,
    to_toml,
)
from tarrafa.configuration.toml_file import FILE_LIMIT_BYTES
from tarrafa.configuration.value_types import (
    BooleanType,
    ChoiceType,
    DurationType,
    IntegerType,
    NumberType,
    OptionalType,
    OrderType,
    SizeType,
)
from tarrafa.errors import ConfigurationError
from tarrafa.units import parse_duration, parse_size


@pytest.fixture(autouse=True)
def _in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def loaded(text: str, **flags: object) -> Configuration:
    Path("tarrafa.toml").write_text(text, encoding="utf-8")
    return load(flags={path.replace("__", "."): value for path, value in flags.items()})


def problems(text: str | bytes, **flags: object) -> list[str]:
    Path("tarrafa.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigurationError) as caught:
        load(flags={path.replace("__", "."): value for path, value in flags.items()})
    lines = str(caught.value).split("\n")
    assert all(line.isprintable() for line in lines)
    return lines


# What is loaded, and from where.


def test_without_file_and_flags_everything_is_default() -> None:
    configuration = load()
    assert configuration == Configuration()
    assert {configuration.origin(key) for key in KEYS.values()} == {"default"}
    assert configuration.fetch == FetchSection(30.0, 10.0, 5_000_000, 65_536)


def test_file_of_the_current_folder_is_read_by_itself() -> None:
    configuration = loaded('[fetch]\ntimeout = "5s"\n')
    assert configuration.fetch.timeout_seconds == 5.0
    assert configuration.origin(KEYS["fetch.timeout"]) == "file tarrafa.toml:2"
    assert configuration.origin(KEYS["fetch.connect_timeout"]) == "default"


def test_named_file_is_read_instead() -> None:
    Path("tarrafa.toml").write_text("[fetch]\nnonsense = 1\n")
    Path("other.toml").write_text("web.hosts = 7\n")
    configuration = load(Path("other.toml"))
    assert configuration.web.hosts == 7
    assert configuration.origin(KEYS["web.hosts"]) == "file other.toml:1"


def test_flag_wins_over_file() -> None:
    configuration = loaded('[fetch]\ntimeout = "5s"\n', fetch__timeout="2m", log__level="info", web__hosts=None)
    assert configuration.fetch.timeout_seconds == 120.0
    assert configuration.origin(KEYS["fetch.timeout"]) == "flag --timeout"
    assert configuration.origin(KEYS["log.level"]) == "flag --log-level"
    assert configuration.origin(KEYS["web.hosts"]) == "default"


def test_configuration_cannot_be_changed() -> None:
    configuration = load()
    with pytest.raises(FrozenInstanceError):
        configuration.fetch.timeout_seconds = 1.0  # type: ignore[misc]
    with pytest.raises(TypeError):
        configuration.origins["fetch.timeout"] = "me"  # type: ignore[index]


def test_environment_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TARRAFA_TIMEOUT", "TARRAFA_FETCH_TIMEOUT", "TARRAFA_CONFIG"):
        monkeypatch.setenv(name, "1s")
    assert load() == Configuration()


def test_file_with_a_byte_order_mark_is_read() -> None:
    """Some editors put one in front of every UTF-8 file."""
    Path("tarrafa.toml").write_bytes(b"\xef\xbb\xbf[web]\nhosts = 3\n")
    assert load().web.hosts == 3


def test_whole_number_is_good_for_a_number() -> None:
    assert loaded("web.speed = 60").web.speed == 60.0


# What is refused, and how it is told.


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('[fetch]\n\ntime_out = "5s"', 3, '[fetch] unknown key "time_out"; did you mean "timeout"?'),
        ("[fetch]\ntimeout = 30", 2, '[fetch] timeout: 30 has no unit; write for example "30s", with quotes'),
        ('[fetch]\ntimeout = "30"', 2, '[fetch] timeout: "30" has no unit; write for example "30s"'),
        ('[fetch]\ntimeout = "2d"', 2, '[fetch] timeout: "2d" is out of bounds; give a duration from 1ms to 1h'),
        ('[fetch]\nbody_limit = "0B"', 2, '[fetch] body_limit: "0B" is out of bounds; give a size from 1B to 1GiB'),
        ("[web]\nhosts = 0", 2, "[web] hosts: 0 is out of bounds; give a whole number from 1 to 1000000"),
        ("[web]\nhosts = true", 2, "[web] hosts: true is not a whole number; write for example 1"),
        ("[web]\nhosts = 3.0", 2, "[web] hosts: 3.0 is not a whole number; write for example 1"),
        ("[web]\nspeed = nan", 2, "[web] speed: nan is not a number; write for example 1.5"),
        ("[web]\nspeed = [1]", 2, "[web] speed: an array is not a number; write for example 1.5"),
        ("web.names = 1", 1, "[web] names: 1 is not a boolean; write true or false, without quotes"),
        ('[log]\nlevel = "loud"', 2, '[log] level: "loud" is not one of "debug", "info", "warning", "error"'),
        ("[crawl]\nuser_agent = 3", 2, '[crawl] user_agent: 3 is not a text; write for example "text", with quotes'),
        ('crawl.user_agent = "é"', 1, '[crawl] user_agent: "é" must be visible ASCII characters, at least one'),
        ('crawl.user_agent = "a\\nb"', 1, '[crawl] user_agent: "a\\nb" must be visible ASCII characters, at least one'),
        ("\n[fetsh]\nx = 1", 2, 'unknown section "fetsh"; did you mean [fetch]?'),
        (
            "[zzz]",
            1,
            'unknown section "zzz"; known sections are '
            "[crawl], [urls], [order], [repository], [politeness], [refresh], [fetch], [extract], [keep], [web], [log]",
        ),
        ("hosts = 3", 1, '"hosts" is outside of a section; did you mean [web] hosts?'),
        ("fetch = 3", 1, '"fetch" must be a section; write [fetch] on a line of its own'),
        ("[[fetch]]", 1, '"fetch" must be a section; write [fetch] on a line of its own'),
        ('[crawl]\ntimeout = "1s"', 2, '[crawl] unknown key "timeout"; did you mean [fetch] timeout?'),
        ("[log]\nqqqq = 1", 2, '[log] unknown key "qqqq"; known keys: level, format, file'),
        ("[fetch]\ntimeout = \n", 2, "is not valid TOML: Invalid value"),
    ],
)
def test_what_is_wrong_is_told_with_its_line_and_what_would_be_right(text: str, line: int, message: str) -> None:
    assert problems(text) == [f"tarrafa.toml:{line}: {message}"]


def test_wrong_unit_is_told_with_the_right_ones() -> None:
    (told,) = problems('[fetch]\nbody_limit = "5s"')
    assert told.startswith('tarrafa.toml:2: [fetch] body_limit: "s" is not a unit of size (B, kB, KiB, MB,')


def test_file_that_ends_too_early_is_told_with_its_last_line() -> None:
    (told,) = problems("a = [\n\n")
    assert told.startswith("tarrafa.toml:2: is not valid TOML: ")


@pytest.mark.parametrize("key", ["hosts", "speed", "delay"])
def test_number_beyond_all_bounds_is_told_in_few_words(key: str) -> None:
    """Python refuses to print such a number in decimal."""
    (told,) = problems(f"[web]\n{key} = 0x{'f' * 5000}")
    assert "a very large number" in told


def test_every_problem_is_told_at_once_in_the_order_of_the_file() -> None:
    told = problems('[web]\nhosts = 0\npages = "x"\n[fetch]\nnonsense = 1\n', fetch__timeout="7", web__port=10**9)
    assert [line.partition(": ")[0] for line in told] == [
        "--timeout",
        "--port",
        "tarrafa.toml:2",
        "tarrafa.toml:3",
        "tarrafa.toml:5",
    ]


def test_file_that_is_not_utf8_is_refused_with_the_line() -> None:
    assert problems("[web]\n# Configuração\n".encode("latin-1")) == [
        "tarrafa.toml:2: is not UTF-8; save the file as UTF-8"
    ]


def test_missing_file_and_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"none\.toml: cannot be read: No such file"):
        load(Path("none.toml"))
    with pytest.raises(ConfigurationError, match="cannot be read: Is a directory"):
        load(tmp_path)


def test_endless_file_is_refused() -> None:
    assert "is too large; the limit is 1,000,000 bytes" in problems(b"#" * (FILE_LIMIT_BYTES + 1))[0]


def test_deep_nesting_is_refused() -> None:
    assert problems("a = " + "[" * 100_000) == ["tarrafa.toml: is nested too deeply"]


def test_number_with_too_many_digits_is_refused() -> None:
    assert "tarrafa.toml" in problems("web.hosts = " + "9" * 5000)[0]


@given(st.text())
def test_any_text_loads_or_is_refused_in_printable_lines(text: str) -> None:
    path = Path("any.toml")
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with suppress(ConfigurationError):
        load(path)
        return
    assert problems(path.read_bytes())


# Written and read back.


def values_of(key: Key) -> st.SearchStrategy[Any]:
    match key.type:
        case DurationType(least, most):
            shortest, longest = (round(parse_duration(each) * 1_000) for each in (least, most))
            return st.integers(shortest, longest).map(lambda count: f"{count}ms")
        case SizeType(least, most):
            return st.integers(parse_size(least), parse_size(most)).map(lambda count: f"{count}B")
        case IntegerType(least, most):
            return st.integers(least, most)
        case NumberType(least, most):
            return st.floats(least, most)
        case BooleanType():
            return st.booleans()
        case OptionalType(inner):
            return st.just("none") | values_of(key._replace(type=inner))
        case ChoiceType(options) | OrderType(options):
            return st.sampled_from(options)
        case _:
            return st.text([chr(code) for code in range(32, 127)], min_size=1, max_size=40).filter(str.strip)


@given(st.fixed_dictionaries({}, optional={path: values_of(key) for path, key in KEYS.items()}))
def test_written_configuration_loads_back_to_the_same_values(flags: dict[str, object]) -> None:
    configuration = load(flags=flags)
    path = Path("written.toml")
    path.write_text(to_toml(configuration))
    again = load(path)
    assert again == configuration
    assert set(again.origins) == set(KEYS)


def test_every_key_says_what_it_is() -> None:
    for key in KEYS.values():
        assert key.help
        assert key.type.describe()
        assert key.type.read(tomllib.loads(f"x = {key.type.write(key.default)}")["x"]) == key.default


def test_crawl_has_a_configuration_of_its_own() -> None:
    """The user's file concerns other crawls; only how to log, and the synthetic web, concern the command."""
    Path("tarrafa.toml").write_text('[crawl]\nscope = "br"\ndepth = 3\n[log]\nlevel = "info"\n[web]\nhosts = 7\n')
    Path("own.toml").write_text('[crawl]\nscope = "pt"\n')
    found = load(crawl_file=Path("own.toml"))
    assert (found.crawl.scope, found.log.level, found.web.hosts) == ("pt", "info", 7)
    assert found.crawl.depth == load(crawl_file=Path("own.toml"), flags={}).crawl.depth != 3


def test_named_file_changes_single_keys_of_a_crawl() -> None:
    Path("own.toml").write_text('[crawl]\nscope = "pt"\nhost_pages = 9\n')
    Path("named.toml").write_text('[crawl]\nscope = "br"\n')
    found = load(Path("named.toml"), {"crawl.in_flight": 3}, crawl_file=Path("own.toml"))
    assert (found.crawl.scope, found.crawl.host_pages, found.crawl.in_flight) == ("br", 9, 3)


def test_configuration_of_a_crawl_does_not_say_how_to_log() -> None:
    text = to_crawl_toml(load(flags={"log.level": "debug", "web.hosts": 7, "crawl.scope": "br"}))
    assert "[log]" not in text
    assert "[web]" not in text
    Path("own.toml").write_text(text)
    found = load(crawl_file=Path("own.toml"))
    assert (found.crawl.scope, found.log.level) == ("br", load().log.level)
