"""The audit: each claim recomputed and given a verdict, by the functions in papers/derive/.

A claim names a public function there. Its parameters are the claim's arguments, by name. A
parameter whose name is in _MADE is made by the method of `Inputs` with that name, from arguments of
its own: `product` from a method, a size and a block, `cell` from a table, a series and a size.

An agreement means something only if another input would have made a difference. So a claim names a
change of an input, and `turned` judges it again after that change.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial, wraps
from inspect import signature
from itertools import chain
from types import FunctionType
from typing import Any

from gpgpu_legacy.code_cache import recalled
from gpgpu_legacy.count.closed_form import same_formula
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.papers.audit.verdict import AuditVerdict
from gpgpu_legacy.papers.derive import equations, executed, machines
from gpgpu_legacy.papers.derive import printed as printed_numbers
from gpgpu_legacy.papers.derive.inputs import Inputs, Product, Rounded, Value
from gpgpu_legacy.papers.published.papers import Claim, Paper, Published
from gpgpu_legacy.papers.published.schema import Alternative, Change, Rule
from gpgpu_legacy.serial import with_fields

Derivation = Callable[..., Value]

_MADE = {
    name: {*signature(Product if name == "product" else getattr(Inputs, name)).parameters}
    for name in (
        "capability", "cell", "cells", "host", "processor", "product", "profile", "speed_ups",
        "steps",
    )
}  # fmt: skip
"""The methods of Inputs that make the parameters of these names, with their own parameters."""


def _derivation(function: Callable[..., Value]) -> Derivation:
    """The function, called with all inputs and the arguments of a claim.

    It raises TypeError for an argument without use.
    """
    own = {*signature(function).parameters}
    made = own & _MADE.keys()
    known = (own - made).union(*(_MADE[name] for name in made))

    @wraps(function)
    def derived(inputs: Inputs, **arguments: Any) -> Value:
        if unknown := arguments.keys() - known:
            raise TypeError(f"there is no argument {', '.join(sorted(unknown))}")
        values = {"inputs": inputs, **arguments}
        for name in made:
            given = {n: arguments[n] for n in _MADE[name] & arguments.keys()}
            values[name] = getattr(inputs, name)(**given)
        return function(**{name: values[name] for name in own & values.keys()})

    return derived


@cache
def derivations() -> Mapping[str, Derivation]:
    """All functions that recompute claims, by name."""
    return {
        name: _derivation(member)
        for module in (equations, executed, machines, printed_numbers)
        for name, member in vars(module).items()
        if isinstance(member, FunctionType)
        and member.__module__ == module.__name__
        and not name.startswith("_")
    }


@frozen
class Finding:
    """A claim with its verdict.

    computed: our value; None if nothing is computed. off: (ours - published) / published if the
    verdict is DIFFERS; None if words or several numbers are published. otherwise: a sentence for
    each of the claim's alternatives, with its value; one that cannot be computed from the paper's
    data says so. failed: whether the computation has raised an error, which is then the claim's
    reason.
    """

    paper: Paper
    claim: Claim
    computed: Value
    verdict: AuditVerdict
    off: float | None = None
    otherwise: tuple[str, ...] = ()
    failed: bool = False

    @property
    def reason(self) -> str:
        """The verdict's reasons in sentences, alternatives included."""
        return " ".join([*_reasons(self.claim, self.verdict, self.off), *self.otherwise])

    @property
    def name(self) -> str:
        """The paper's id and the claim's."""
        return f"{self.paper.id} {self.claim.id}"

    @property
    def cause(self) -> str:
        """The name of what decides the claim; its own id if it shares that with no other."""
        return self.claim.cause or self.claim.id


def recalled_audit(chosen: Iterable[Paper]) -> list[Finding]:
    """The findings on every claim of these papers, in the order of the data.

    A claim that cannot be computed is unchecked, and says why. What was computed by this version
    of the package is kept.
    """
    kept = (recalled(f"audit of {paper!r}", partial(_findings, paper)) for paper in chosen)
    return [*chain.from_iterable(kept)]


def _findings(paper: Paper) -> list[Finding]:
    return [_judged(paper, claim) for claim in paper.claims]


def _judged(paper: Paper, claim: Claim) -> Finding:
    try:
        return judge(paper, claim)
    except InputError as error:
        unknown = with_fields(claim, reason=str(error), alternatives=())
        return Finding(paper, unknown, None, AuditVerdict.UNCHECKED, failed=True)


def judge(paper: Paper, claim: Claim, inputs: Inputs | None = None) -> Finding:
    """Recompute a claim and compare it with what is published.

    inputs: replacements for values of the paper and the profiles. Raises InputError for a
    derivation that cannot be computed from the paper's data.
    """
    read = inputs or Inputs(paper)
    computed = None if claim.derive is None else _derive(read, claim, claim)
    verdict = _verdict(claim, computed)
    off = _off(claim, computed) if verdict is AuditVerdict.DIFFERS else None
    otherwise = tuple(_alternative(read, claim, entry) for entry in claim.alternatives)
    return Finding(paper, claim, computed, verdict, off, otherwise)


def _derive(inputs: Inputs, claim: Claim, of: Claim | Alternative) -> Value:
    """The value of a claim or an alternative; InputError, with the claim's name, for none."""
    name, over = of.derive or "", dict(of.over or {})
    try:
        value: Any = derivations()[name](inputs, **of.arguments)
        if over:
            other = str(over.pop("derive", name))
            shared = of.arguments if other == name else {}
            value = value / derivations()[other](inputs, **{**shared, **over})
            value = value.simplify() if hasattr(value, "simplify") else value
        if of.times != 1.0:
            value = value * of.times
        if hasattr(value, "free_symbols"):  # sympy's numbers; else a formula or a fraction as text
            return float(value) if value.is_Float or value.is_Integer else str(value)
    except (
        LookupError, TypeError, ValueError, ArithmeticError, AssertionError, StopIteration
    ) as error:  # fmt: skip
        raise InputError(
            f"{inputs.paper.id} {claim.id}: {name} cannot be computed "
            f"({type(error).__name__}: {error}); check the claim's arguments and the cells that "
            "they name"
        ) from error
    return value  # type: ignore[no-any-return]


def how_derived(claim: Claim) -> str:
    """The derivation of a claim in words; empty if there is none."""
    if claim.derive is None:
        return ""
    names = [claim.derive]
    if claim.over is not None:
        names.append(str(claim.over.get("derive", claim.derive)))
    texts = [(derivations()[name].__doc__ or "").partition("\n\n")[0] for name in names]
    return " Over: ".join(" ".join(text.split()) for text in texts)


# Verdicts -----------------------------------------------------------------------------------------


def _verdict(claim: Claim, computed: Value) -> AuditVerdict:
    if claim.source:
        return AuditVerdict.EXTERNAL
    if claim.rule is Rule.NONE:
        return AuditVerdict.UNCHECKED
    if not _RULES[claim.rule](claim, computed):
        return AuditVerdict.DIFFERS
    if claim.rule in {Rule.NOT_BELOW, Rule.NOT_ABOVE}:
        return AuditVerdict.POSSIBLE
    return AuditVerdict.RESTS_ON if claim.rests_on else AuditVerdict.AGREES


def _equal(claim: Claim, computed: Value) -> bool:
    published = claim.expected
    if isinstance(published, str) or isinstance(computed, str):
        return published == computed
    ours, theirs = _numbers(computed), _numbers(published)
    if len(ours) != len(theirs) or not theirs:
        return False
    slack = claim.tolerance * (1 + 1e-9)
    return all(
        one.low <= number.value + slack and number.value - slack <= one.high
        for one, number in zip(ours, theirs, strict=True)
    )


def _within(claim: Claim, computed: Value) -> bool:
    least, most = (number.value for number in _numbers(claim.expected))
    slack = claim.tolerance
    return all(one.low >= least - slack and one.high <= most + slack for one in _numbers(computed))


def _at_least(claim: Claim, computed: Value, sign: int = 1, slack: float = 0.0) -> bool:
    """Whether ours is no less than the published value; sign: -1 for no more."""
    return sign * _single(computed) >= sign * _single(claim.expected) - slack


_RULES: Mapping[Rule, Callable[[Claim, Value], bool]] = {
    Rule.EQUAL: _equal,
    Rule.FORMULA: lambda claim, computed: same_formula(computed, str(claim.published)),
    Rule.AT_LEAST: _at_least,
    Rule.AT_MOST: lambda claim, computed: _at_least(claim, computed, -1),
    Rule.WITHIN: _within,
    Rule.HOLDS: lambda claim, computed: computed is True,
    Rule.NOT_BELOW: lambda claim, computed: _at_least(claim, computed, -1, claim.tolerance),
    Rule.NOT_ABOVE: lambda claim, computed: _at_least(claim, computed, 1, claim.tolerance),
}


def _numbers(value: Value | Published) -> tuple[Rounded, ...]:
    """The numbers of a value, if it has any, with their bounds."""
    if value is None or isinstance(value, str):
        return ()
    if isinstance(value, Rounded):
        return (value,)
    numbers = map(float, value if isinstance(value, tuple) else (value,))
    return tuple(Rounded(number, number, number) for number in numbers)


def _single(value: Value | Published) -> float:
    numbers = _numbers(value)
    return numbers[0].value if len(numbers) == 1 else math.nan


def _off(claim: Claim, computed: Value) -> float | None:
    published, ours = _single(claim.published), _single(computed)
    if isinstance(computed, bool) or not published or math.isnan(published * ours):
        return None
    return ours / published - 1.0


def _reasons(claim: Claim, verdict: AuditVerdict, off: float | None) -> Iterator[str]:
    if off is not None:
        yield f"Ours is {_by(off)}."
    if verdict is AuditVerdict.RESTS_ON:
        yield f"It rests on {claim.rests_on}."
    if claim.source:
        yield f"It stands in {claim.source}, not in the paper."
    if claim.reason:
        yield claim.reason


def off_in_words(claim: Claim, computed: str) -> str:
    """The distance of a recorded value from the published one; empty if both are words."""
    try:
        off = _off(claim, float(computed))
    except ValueError:
        return ""
    return "" if off is None else _by(off)


def _by(off: float) -> str:
    if off >= 1.0:
        return f"{off + 1.0:.3g} times as much"
    return f"{100.0 * abs(off):.3g} % {'more' if off > 0.0 else 'less'}"


def _alternative(inputs: Inputs, claim: Claim, entry: Alternative) -> str:
    """The sentence of an alternative, which takes from its claim what it leaves out."""
    unit = claim.unit if entry.unit is None else entry.unit
    if entry.derive is None:
        entry = with_fields(
            entry,
            derive=claim.derive,
            arguments=claim.arguments | entry.arguments,
            over=claim.over if entry.over is None else entry.over,
            times=claim.times,
        )
    elif not claim.is_of_text:
        place = {name: claim.arguments[name] for name in _PLACE & claim.arguments.keys()}
        entry = with_fields(entry, arguments=entry.arguments | place)
    try:
        return f"{entry.assuming} {shown(_derive(inputs, claim, entry))}{unit and ' '}{unit}."
    except InputError as error:
        return f"{entry.assuming} not known: {error}."


_PLACE = {"size", "block"}
"""The arguments that a claim of a cell has from its place."""

_DIGITS = 5
_PRINTED_DIGITS = 12


def printed(value: Published) -> str:
    """A published value as text, with all its digits."""
    return shown(value, _PRINTED_DIGITS)


def shown(value: Value | Published, digits: int = _DIGITS) -> str:
    """A value as text, as tables show it and as it is recorded."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    return ", ".join(_digits(number.value, digits) for number in _numbers(value))


def _digits(number: float, digits: int) -> str:
    if math.isfinite(number) and number == int(number) and abs(number) < 1e15:
        return str(int(number))
    return f"{number:.{digits}g}"


def turned(finding: Finding) -> Finding | None:
    """The finding after the change that the claim names; None if it names none.

    Raises InputError for a change of something that our value does not depend on, or that does not
    exist.
    """
    claim, change = finding.claim, _change(finding.claim)
    if change is None:
        return None
    changed = with_fields(claim, arguments=claim.arguments | change.arguments, alternatives=())
    fact = change.fact
    facts = {} if fact is None else {(fact.chip, fact.fact): fact.value}
    after = judge(finding.paper, changed, Inputs(finding.paper, change, facts))
    if after.computed == finding.computed:
        raise InputError(f"{finding.name}: turned_by changes nothing that ours depends on")
    return after


def _change(claim: Claim) -> Change | None:
    """The change that a claim names; that of a cell is at the claim's size if it names no other."""
    change, size = claim.turned_by, claim.arguments.get("size")
    if change is None or change.cell is None or change.cell.size is not None:
        return change
    return with_fields(change, cell=with_fields(change.cell, size=size))


def words(claim: Claim) -> str:
    """The change that a claim names, in words; empty if it names none."""
    change = _change(claim)
    return "" if change is None else ", ".join(_words(change))


def _words(change: Change) -> Iterator[str]:
    yield from (f"{name} = {_value(value)}" for name, value in change.arguments.items())
    if (plan := change.plan) is not None:
        which = "any" if plan.every else "its last"
        said = {
            f"a program without {which} {plan.instruction}": plan.instruction,
            f"a kernel with `{plan.becomes}` for `{plan.text}`": plan.text and plan.becomes,
            f"a kernel without `{plan.text.strip()}`": plan.text and not plan.becomes,
            f"loops of passes shorter by {plan.iterations}": plan.iterations,
            f"rectangles lower by {plan.rows}": plan.rows,
            f"textures of {plan.becomes} for {plan.texture_format}": plan.texture_format,
        }
        yield from (text for text, holds in said.items() if holds)
    if (cell := change.cell) is not None:
        size = cell.size
        block = "" if cell.block is None else f", b = {cell.block},"
        yield f"{cell.table}/{cell.series}/{size}{block} times {cell.times:g}"
    if (fact := change.fact) is not None:
        yield f"{fact.chip}'s {fact.fact} = {_value(fact.value)}"
    if change.claim is not None:
        yield f"{change.claim.id} = {printed(change.claim.published.value)}"


def _value(value: object, separator: str = "; ") -> str:
    if not isinstance(value, tuple | list):
        return str(value)
    return separator.join(_value(part, " ") for part in value)
