"""Validation of what a pass gives to its program or kernel: known places, and each only once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.plan.numbers import Table
from gpgpu_legacy.plan.plan import ComputePass, FragmentPass, Pass


def value_problem(pass_: Pass) -> str | None:
    """What is wrong with the values of a pass; None if all have a place of their own."""
    match pass_:
        case FragmentPass():
            return next(_of_draw(pass_), None)
        case ComputePass():
            return next(_of_dispatch(pass_), None)
    return None


def _of_draw(pass_: FragmentPass) -> Iterator[str]:
    from gpgpu_legacy.languages.arb.limits import DEFAULT_LIMITS

    units, sets = [b.unit for b in pass_.bindings], [t.set for t in pass_.texcoords]
    local, env = [p.index for p in pass_.locals], [p.index for p in pass_.env]
    yield from _indices("texture", units, DEFAULT_LIMITS.texture_image_units)
    yield from _indices("fragment.texcoord", sets, DEFAULT_LIMITS.texture_coordinate_sets)
    yield from _indices("program.local", local, DEFAULT_LIMITS.local_parameters)
    yield from _indices("program.env", env, DEFAULT_LIMITS.environment_parameters)
    yield from _once("fragment.", [attribute.kind.value for attribute in pass_.attributes])
    yield from _once("", [state.binding for state in pass_.state])
    yield from _unknown_state([state.binding for state in pass_.state])


def _unknown_state(bindings: list[str]) -> Iterator[str]:
    if bindings:  # isa/state.py imports NumPy
        from gpgpu_legacy.isa.state import state_vector

        for binding in bindings:
            try:
                state_vector(binding, {})
            except InputError as error:
                yield str(error)


def _of_dispatch(pass_: ComputePass) -> Iterator[str]:
    from gpgpu_legacy.kernel.ir import Type

    name = pass_.kernel.name
    yield from _once(f"binding of {name}: ", [buffer.binding for buffer in pass_.buffers])
    yield from _once(f"uniform of {name}: ", [uniform.name for uniform in pass_.uniforms])
    flags = {uniform.name for uniform in pass_.kernel.uniforms if uniform.type is Type.BOOL}
    for uniform in pass_.uniforms:
        value = uniform.value
        values = value.values if isinstance(value, Table) else (value,)
        if uniform.name in flags and any(each not in (False, True) for each in values):
            yield f"uniform {uniform.name} of {name} is a bool; give True or False"


def _indices(what: str, given: list[int], count: int) -> Iterator[str]:
    for index in given:
        if not 0 <= index < count:
            yield f"a pass gives {what}[{index}]; give indices from 0 to {count - 1}"
    yield from _once("", [f"{what}[{index}]" for index in given])


def _once(what: str, given: Iterable[Hashable]) -> Iterator[str]:
    for name, times in Counter(given).most_common(1):
        if times > 1:
            yield f"a pass gives {what}{name} twice; give it once"
