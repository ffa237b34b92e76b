"""Processors whose memory hierarchy is simulated: hosts.toml, and its reader."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files
from typing import Any

from gpgpu_legacy.cache.caches import Cache, parse_cache
from gpgpu_legacy.cache.host import Hierarchy
from gpgpu_legacy.chips.profile import Confidence, Fact, ProfileError
from gpgpu_legacy.errors import InputError


@dataclass(frozen=True, slots=True)
class Host:
    """A processor. name: in hosts.toml; l1 (of data) and l2 as parse_cache reads them."""

    name: str
    title: str
    aliases: tuple[str, ...]
    clock_ghz: Fact[float]
    l1: Fact[str]
    l2: Fact[str]
    dtlb_entries: Fact[int]
    dtlb_ways: Fact[int]
    page_bytes: Fact[int]
    page_table_entry_bytes: Fact[int]
    memory_gib: Fact[int]

    @property
    def hierarchy(self) -> Hierarchy:
        """What is simulated."""
        page = self.page_bytes.value
        return Hierarchy(
            l1=parse_cache(self.l1.value),
            l2=parse_cache(self.l2.value),
            dtlb=Cache(self.dtlb_entries.value * page, self.dtlb_ways.value, page),
            entry_bytes=self.page_table_entry_bytes.value,
            memory_bytes=self.memory_gib.value << 30,
        )

    @property
    def facts(self) -> dict[str, Fact[Any]]:
        """All numbers by name, with their sources."""
        found = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: each for name, each in found.items() if isinstance(each, Fact)}


@cache
def hosts() -> tuple[Host, ...]:
    """All hosts, in the file's order."""
    return read_hosts(files("gpgpu_legacy.chips").joinpath("hosts.toml").read_text("utf-8"))


def find_host(name: str) -> Host:
    """The host of that name or alias; InputError, with the names there are, for another."""
    plain = "-".join(name.lower().replace("_", " ").replace("-", " ").split())
    for host in hosts():
        if plain in {host.name, *host.aliases}:
            return host
    known = ", ".join(host.name for host in hosts())
    raise InputError(f"there is no host {name!r}; choose from {known}")


def read_hosts(text: str) -> tuple[Host, ...]:
    """The hosts of a file's text; ProfileError where it does not keep to the form."""
    data = tomllib.loads(text)
    sources = data.pop("sources")
    return tuple(_host(name, table, sources) for name, table in data.items())


def _host(name: str, table: dict[str, Any], sources: dict[str, str]) -> Host:
    expected = {field.name for field in fields(Host)} - {"name"}
    if table.keys() != expected:
        wrong = ", ".join(sorted(table.keys() ^ expected))
        raise ProfileError(f"hosts.toml: {name}: missing or unknown: {wrong}")
    facts = {
        key: _fact(value, f"hosts.toml: {name}.{key}", sources)
        for key, value in table.items()
        if key not in {"title", "aliases"}
    }
    return Host(name=name, title=table["title"], aliases=tuple(table["aliases"]), **facts)


def _fact(data: dict[str, Any], place: str, sources: dict[str, str]) -> Fact[Any]:
    if data["source"] not in sources:
        raise ProfileError(f"{place}: there is no source {data['source']!r}")
    confidence = Confidence(data["confidence"])
    return Fact(data["value"], data["source"], confidence, data.get("note", ""))
