"""The generators themselves: what they make differs, and comes again with the same seed."""

from __future__ import annotations

from attacks import Attack, mutated_bytes, mutated_json, mutated_text

HALF = Attack(full=False, seed=3)


def test_the_same_seed_gives_the_same_cases_and_another_seed_others() -> None:
    def texts(attack: Attack) -> list[str]:
        random = attack.random("texts")
        return [mutated_text(random, "MOV a, b;") for _ in range(50)]

    assert texts(HALF) == texts(HALF)
    assert texts(HALF) != texts(Attack(full=False, seed=4))


def test_mutations_change_nearly_everything() -> None:
    random = HALF.random("changes")
    data = {"schema": "x", "steps": [{"count": 1}, {"count": 2}]}
    assert sum(mutated_text(random, "MOV a, b;") != "MOV a, b;" for _ in range(100)) > 70
    assert sum(mutated_bytes(random, bytes(range(99))) != bytes(range(99)) for _ in range(100)) > 90
    assert sum(mutated_json(random, data) != data for _ in range(100)) > 70
    assert data == {"schema": "x", "steps": [{"count": 1}, {"count": 2}]}


def test_a_share_is_less_than_everything() -> None:
    assert HALF.count(10, 1000) == 10
    assert Attack(full=True, seed=0).count(10, 1000) == 1000
