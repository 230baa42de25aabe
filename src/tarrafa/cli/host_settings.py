"""The settings that hold for one host: those of its `[[host]]` tables, over the general ones."""

from typing import Any, NamedTuple

from rich.table import Table

from tarrafa.cli.common import console, show_json
from tarrafa.configuration import HOST_KEYS, KEYS, Configuration, HostKey, HostTables

_HIDDEN = "(set, not shown)"
# What holds where no table sets a key.
_GENERAL = {
    "delay": "politeness.delay",
    "pages": "crawl.host_pages",
    "refresh_shortest": "refresh.shortest",
    "refresh_longest": "refresh.longest",
    "insecure": "fetch.insecure",
    "drop_parameters": "urls.drop_parameters",
}


# What holds where no table sets a key, and there is no general setting.
_DEFAULTS = {"connections": 1, "priority": 0}


class HostSetting(NamedTuple):
    """A setting of a host, and where it was written."""

    name: str
    value: Any  # None for none
    origin: str


def settings_of(configuration: Configuration, host: str) -> list[HostSetting]:
    found = HostTables(configuration.hosts).of(host)
    rows = []
    for key in HOST_KEYS.values():
        value = found.value(key)
        if key.name == "match":
            continue
        if value is not None:
            rows.append(HostSetting(key.name, _shown(key, value), found.origins.get(key.name, "")))
        else:
            rows.append(_general(configuration, key))
    return rows


def _shown(key: HostKey, value: Any) -> str:
    if key.name == "headers":
        return ", ".join(f"{name}: {_HIDDEN}" for name, _ in value)
    return _HIDDEN if key.is_secret else key.type.write(value).strip('"')


def _general(configuration: Configuration, key: HostKey) -> HostSetting:
    path = _GENERAL.get(key.name)
    if path is None:
        return HostSetting(key.name, _DEFAULTS.get(key.name), "default")
    general = KEYS[path]
    value = general.type.write(configuration.value(general)).strip('"')
    if key.name == "delay" and configuration.politeness.policy != "constant":
        value = f"by the policy {configuration.politeness.policy}"
        return HostSetting(key.name, value, configuration.origin(KEYS["politeness.policy"]))
    return HostSetting(key.name, value, configuration.origin(general))


def show_host(configuration: Configuration, host: str, *, as_json: bool) -> None:
    """Print the settings of a host such as `https://example.org`."""
    rows = settings_of(configuration, host)
    if as_json:
        settings = {each.name: {"value": each.value, "origin": each.origin} for each in rows}
        show_json({"host": host, "settings": settings})
        return
    table = Table("setting", "value", "origin", "meaning", box=None, pad_edge=False)
    for each in rows:
        value = "none" if each.value is None else str(each.value)
        table.add_row(each.name, value, each.origin, HOST_KEYS[each.name].help)
    out = console()
    out.print(f"Settings of {host}, unless its robots.txt asks for more:")
    out.print(table)
