"""The chips' files: every number has its source, the form is strict, names are found."""

from __future__ import annotations

import pytest

from gpgpu_legacy.chips.profile import (
    Confidence,
    Limits,
    Profile,
    find_profile,
    profiles,
    read_profile,
    sources,
)
from gpgpu_legacy.errors import InputError

FACTS = [(p.name, place, fact) for p in profiles() for place, fact in p.facts()]


def test_every_number_has_its_source_and_makes_sense() -> None:
    for name, place, fact in FACTS:
        assert fact.source in sources(), (name, place)
        assert isinstance(fact.confidence, Confidence)
        value = fact.value
        if isinstance(value, int | float) and not isinstance(value, bool):
            assert value >= 0, (name, place)
            assert fact.up_to is None or fact.up_to > value, (name, place)
        if isinstance(value, str):
            assert value.strip() == value != "", (name, place)


def test_every_source_is_used() -> None:
    assert {fact.source for _, _, fact in FACTS} == set(sources())


def test_names_and_aliases_name_one_profile_each() -> None:
    names = [name for p in profiles() for name in (p.name, *p.aliases)]
    assert len(names) == len(set(names))
    assert all(find_profile(name).name for name in names)


def values(limits: Limits) -> dict[str, float]:
    return {name: fact.value for name, fact in limits.facts()}


def test_what_a_radeon_9700_advertises_is_not_what_it_has() -> None:
    chip = find_profile("radeon-9700")
    assert values(chip.advertised) == {
        "alu_instructions": 128, "texture_instructions": 32, "indirections": 31,
    }  # fmt: skip
    native = values(chip.native)
    assert (native["alu_instructions"], native["texture_instructions"]) == (64, 32)
    assert (native["instructions"], native["indirections"], native["temporaries"]) == (96, 4, 32)
    assert chip.advertised.alu_instructions is not None
    assert chip.advertised.alu_instructions.source == "GB"


# Finding -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["r300", "R300", "Radeon 9700", "radeon_9700", "radeon-9700-pro"])
def test_a_chip_is_found_by_many_names(name: str) -> None:
    assert find_profile(name).name == "radeon-9700-pro"


def test_a_misspelt_chip_is_answered_with_the_nearest() -> None:
    with pytest.raises(InputError, match=r"no chip 'radeon-97oo'; did you mean .*radeon-9700"):
        find_profile("radeon-97oo")
    with pytest.raises(InputError, match=r"no chip 'voodoo'; see `gpgpu-legacy chips`"):
        find_profile("voodoo")
    with pytest.raises(InputError, match="there is no chip ''"):
        find_profile("")


# The form ----------------------------------------------------------------------------------------

HEAD = 'name = "x"\ntitle = "X"\nkind = "chip"\n'


def read(*lines: str) -> Profile:
    return read_profile(HEAD + "\n".join(lines) + "\n", "x.toml")


FACT = 'source = "M", confidence = "high"'


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        (("colour = 1",), "x.toml: object contains unknown field `colour`"),
        (
            ("[native]", f"temporary = {{ value = 1, {FACT} }}"),
            "native: object contains unknown field `temporary`; did you mean `temporaries`?",
        ),
        (
            ("[native]", "temporaries = 32"),
            "native.temporaries: expected `object | null`, got `int`",
        ),
        (
            ("[native]", 'temporaries = { value = 3, source = "M" }'),
            "native.temporaries: object missing required field `confidence`",
        ),
        (
            ("[native]", f'temporaries = {{ value = "3", {FACT} }}'),
            "temporaries.value: expected `int | float`",
        ),
        (
            ("[formats]", f"rectangle_textures = {{ value = 1, {FACT} }}"),
            "expected `bool`, got `int`",
        ),
        (
            ("[native]", 'temporaries = { value = 3, source = "hearsay", confidence = "high" }'),
            "native.temporaries: there is no source 'hearsay'",
        ),
        (
            ("[native]", 'temporaries = { value = 3, source = "M", confidence = "sure" }'),
            "temporaries.confidence: invalid enum value 'sure'; choose from high, medium, low",
        ),
        (("= 3",), "x.toml cannot be read: "),
    ],
)
def test_a_file_in_another_form_is_refused(lines: tuple[str, ...], complaint: str) -> None:
    with pytest.raises(InputError, match=r"^x\.toml") as caught:
        read(*lines)
    assert complaint in str(caught.value)
