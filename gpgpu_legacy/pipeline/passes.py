"""Passes and loops of a plan, written down in the order in which they run."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from math import isfinite
from typing import Any, TypedDict, Unpack, cast

from gpgpu_legacy.decorators import block, public
from gpgpu_legacy.errors import InputError, PlanError, as_positive, described, warn
from gpgpu_legacy.isa.kernel import Kernel
from gpgpu_legacy.isa.program import AttributeKind, Program, TextureTarget
from gpgpu_legacy.languages.arb.limits import DEFAULT_LIMITS
from gpgpu_legacy.pipeline.loops import (
    LARGEST_COUNT,
    Item,
    LoopCondition,
    LoopExpression,
    RecordedLoop,
    Swap,
    items_of,
    resolved,
    values_over,
)
from gpgpu_legacy.pipeline.names import as_kernel, as_sampler, assemble, by_index, sizes
from gpgpu_legacy.pipeline.storage import StorageBuilder
from gpgpu_legacy.pipeline.values import Texels, Values, indexed
from gpgpu_legacy.plan.framebuffer import AlphaTest, Blend, alpha_test_of, blend_of
from gpgpu_legacy.plan.plan import (
    Binding,
    BufferBinding,
    ClearPass,
    ComputePass,
    CopyPass,
    FragmentPass,
    Pass,
    Step,
    Texcoords,
    UniformValue,
)
from gpgpu_legacy.plan.textures import (
    Filter,
    MovingRect,
    Rect,
    Sampler,
    Texture,
    TextureKind,
    level_rect,
)


class DrawKeywords(TypedDict, total=False):
    """The inputs of a fragment program besides its textures; see PassBuilder.draw."""

    uniforms: Mapping[str, Any]
    local: Mapping[int, Any]
    env: Mapping[int, Any]
    texcoords: Mapping[Any, Any]
    color: Any
    secondary_color: Any
    fogcoord: Any
    state: Mapping[str, Any]
    blend: Blend | str | None
    mask: str
    scissor: Any
    alpha_test: AlphaTest | str | None


class PassBuilder(StorageBuilder):
    """A builder of passes and loops, besides textures, matrices and streams; see PlanBuilder.

    warns: whether to warn about a pass that is probably a mistake.
    """

    warns = True

    @public
    def __init__(self, name: str) -> None:
        """Begin an empty plan. name: its own."""
        super().__init__(name)
        self._items: list[Item | Step] = []
        self._texts: dict[str, int] = {}
        self._loops = 0
        self._loop: RecordedLoop | None = None
        self._is_validated = True

    # Passes -------------------------------------------------------------------------------------

    @public
    def draw(
        self,
        program: Program | str | Any,
        textures: Mapping[Any, Any] | None = None,
        *,
        into: Texture | Sequence[Texture],
        rect: Any = None,
        **given: Unpack[DrawKeywords],
    ) -> None:
        """Draw a rectangle with a fragment program: it runs once for each fragment.

        program: a Program, its text, or its file, beside the caller's code or in the current
        folder; see `assemble`. textures: {unit: texture}, or {unit: (texture, filter, wrap)} by
        GL's names; a sampler's name in the source may stand for a unit. into: the texture to
        draw to, or several for result.color[0], [1] and so on. rect: (x, y, width, height) in
        texels of the target; by default the whole target. given: uniforms, local, env, texcoords,
        color, secondary_color, fogcoord, state, blend, mask, scissor and alpha_test, as follows.

        uniforms: {name: vector} by the names of the source; an array or a matrix takes one for each
        element or row. local, env: {index: vector} for program.local and program.env. A vector is
        a single number for all four components, or 1 to 4 numbers; missing ones are 0, 0 and 1.
        texcoords: {set or varying: Texels, vector, or one for each corner (0, 0), (W, 0), (W, H),
        (0, H)}; set 0 holds the pixel's own coordinates if it is not given. color,
        secondary_color: a vector, or four. fogcoord: a number, or four. state: {name: value} of GL
        state. blend: how the drawn colour is combined with the target's, as in `add`, or
        `add,src-alpha,one-minus-src-alpha`. mask: the channels that are written, of `rgba`.
        scissor: (x, y, width, height) in texels of the target, outside of which nothing is drawn.
        alpha_test: discards each fragment whose alpha does not pass, as in `greater,0.5`.
        """
        code = assemble(program, self._name("program", program))
        targets = [self._known(t) for t in (into if isinstance(into, tuple | list) else [into])]
        if not targets:
            raise InputError("into is empty; give the texture to draw to")
        values = Values(self._loop)
        area = self._area("rect", rect, targets[0])
        named = by_index(code, {"textures": textures, **given})
        bindings = tuple(self._bindings(named["textures"], code))
        extents = {b.unit: self._validator.textures[b.texture].extent for b in bindings}
        named["local"] = sizes(code, extents) | named["local"]
        scissor = given.get("scissor")
        pass_ = FragmentPass(
            program=code,
            bindings=bindings,
            targets=tuple(target.name for target in targets),
            rect=area,
            texcoords=_texcoords(code, values, named["texcoords"], area),
            locals=values.parameters("local", named["local"], DEFAULT_LIMITS.local_parameters),
            env=values.parameters("env", named["env"], DEFAULT_LIMITS.environment_parameters),
            blend=blend_of(given.get("blend")),
            attributes=tuple(
                values.attribute(kind, given[name], area)  # type: ignore[literal-required]
                for name, kind in _ATTRIBUTES.items()
                if given.get(name) is not None
            ),
            state=values.state(given.get("state")),
            mask=given.get("mask", "rgba"),
            scissor=None if scissor is None else values.rect("scissor", scissor),
            alpha_test=alpha_test_of(given.get("alpha_test")),
        )
        self._add(pass_)
        if self.warns:
            warn_of_mistakes(pass_, named["texcoords"], named["textures"])

    @public
    def copy(
        self, source: Texture, target: Texture, *, source_rect: Any = None, target_rect: Any = None
    ) -> None:
        """Copy a rectangle of one texture to another, whole textures by default.

        source, target: the textures. source_rect, target_rect: (x, y, width, height) in texels of
        each; both have one size.
        """
        self._add(
            CopyPass(
                self._known(source).name,
                self._area("source_rect", source_rect, source),
                self._known(target).name,
                self._area("target_rect", target_rect, target),
            )
        )

    @public
    def generate_mipmap(self, texture: Texture) -> None:
        """Compute the levels of a 2D texture from level 0: each texel is the mean of 2×2 texels.

        texture: one that was made with `levels`. Each level is drawn by linear lookups in the level
        before, and copied into the texture. The last texel of an odd side is dropped.
        """
        known = self._known(texture)
        if known.kind is not TextureKind.T2D:
            raise InputError(
                f"{known.name} is {known.kind.value}, and mipmaps of 2D textures are generated; "
                "upload the levels of others"
            )
        for n in range(1, known.extent.levels):
            above, here = (known.extent.level(level, known.kind) for level in (n - 1, n))
            drawn = self.texture(
                f"{known.name}, level {n}", here.width, here.height,
                format=known.format.name, kind="2D",
            )  # fmt: skip
            s, t = (
                min(1.0, 2 * small / large)  # a row or a column of one texel stays as it is
                for small, large in ((here.width, above.width), (here.height, above.height))
            )
            sampler = Sampler(Filter.LINEAR, base_level=n - 1, max_level=n - 1)
            corners = [(0, 0), (s, 0), (s, t), (0, t)]
            self.draw(_BOX, {0: (known, sampler)}, into=drawn, texcoords={0: corners})
            self.copy(drawn, known, target_rect=level_rect(known, n))

    @public
    def clear(self, target: Texture, value: Any = 0.0) -> None:
        """Set every texel to a value.

        target: the texture. value: a number, or four.
        """
        self._add(ClearPass(self._known(target).name, Values(self._loop).vector("value", value)))

    @public
    def dispatch(
        self,
        kernel: Kernel | str | Any,
        buffers: Sequence[Texture] | Mapping[int, Texture],
        groups: tuple[Any, Any],
        *,
        uniforms: Mapping[str, Any] | None = None,
        independent: bool = False,
    ) -> None:
        """Dispatch work groups of a compute kernel.

        kernel: a Kernel, its GLSL text, or its file. buffers: textures of kind BUFFER, at the
        binding points 0, 1, 2, …, or by binding point. groups: how many along x and along y.
        uniforms: by name. independent: whether the pass touches no element that the pass before it
        wrote, so that a device may overlap the two.
        """
        code, values = as_kernel(kernel, self._name("kernel", kernel)), Values(self._loop)
        bound = buffers if isinstance(buffers, Mapping) else dict(enumerate(buffers))
        groups_x, groups_y = (values.integer("groups", count) for count in groups)
        self._add(
            ComputePass(
                code,
                tuple(BufferBinding(n, self._known(b).name) for n, b in bound.items()),
                tuple(
                    UniformValue(name, values.number(name, value))
                    for name, value in (uniforms or {}).items()
                ),
                (groups_x, groups_y),
                independent,
            )
        )

    # Loops --------------------------------------------------------------------------------------

    @public
    @block
    def repeat(
        self,
        count: Any = None,
        *,
        until: Texture | None = None,
        below: float | None = None,
        at_most: Any = None,
        every: int = 1,
    ) -> Generator[LoopExpression, None, None]:
        """Repeat the passes of a `with` block; its value is the iteration, counted from 0.

        count: at least 0; inside another repeat, it may be an expression of that iteration.
        until: in place of a count, a texture of 1×1 texel, whose red channel is read before
        iterations. below: the repeat ends when the channel is below this number. at_most: the
        number of iterations if it never is. every: the texel is read before each iteration whose
        number this divides.
        """
        by_question = {until is not None, below is not None, at_most is not None}
        if by_question != {count is None} or (count is not None and every != 1):
            raise InputError(
                "a repeat needs a count, or until, below and at_most; give one of both"
            )
        question = None if until is None else self._question(until, below, every)
        self._loops += 1
        iterations = self._count(at_most if question else count)
        loop = RecordedLoop(self._loops, self._loop, iterations, question)
        self._append(loop)
        self._loop = loop
        try:
            yield loop.index
        finally:
            self._loop = loop.parent
        self._after_loop(loop)

    def _question(self, until: Texture, below: Any, every: Any) -> LoopCondition:
        """The condition that ends a repeat, checked."""
        number = Values(None).number("below", below)
        if not isinstance(number, int | float) or not isfinite(number):
            raise InputError(f"below is {described(below)}; give a finite number")
        name = self._known(until).name
        self._validator.condition(name)
        return LoopCondition(name, number, as_positive("every", every))

    @public
    def swap(self, first: Texture, second: Texture) -> None:
        """Exchange two textures: from here on, each name means the other's texels.

        first, second: textures of one kind, size and format.
        """
        first, second = self._known(first), self._known(second)
        if (first.kind, first.extent, first.format) != (second.kind, second.extent, second.format):
            raise InputError(
                f"{first.name} and {second.name} differ in kind, size or format, so they cannot be "
                "swapped; make them alike, or copy"
            )
        self._append(Swap(first.name, second.name))
        self._alternating[min(first.name, second.name), max(first.name, second.name)] = None
        defined = self._validator.defined
        if (first.name in defined) != (second.name in defined):
            defined ^= {first.name, second.name}

    # Shared parts -------------------------------------------------------------------------------

    def _name(self, what: str, given: object) -> str:
        """The name of a program or kernel in messages; texts are program 1, program 2 and so on."""
        if not isinstance(given, str):
            return what
        return f"{what} {self._texts.setdefault(given, len(self._texts) + 1)}"

    def _area(self, name: str, given: Any, texture: Texture) -> Rect | MovingRect:
        """The rectangle of a pass, by default the whole texture."""
        return level_rect(texture) if given is None else Values(self._loop).rect(name, given)

    def _add(self, pass_: Pass) -> None:
        """Check a pass in all of its iterations, and record it."""
        loop = self._loop
        total = 1 if loop is None else loop.total
        fixed = resolved(pass_, loop, range(total)) if total else pass_
        if total:
            self._validator.one_pass(fixed, total)
        self._append(fixed if loop is None or loop.parent is None else pass_)

    def _append(self, item: Item) -> None:
        self.family = None  # the plan is no longer the algorithm's
        if self._loop is None:
            self._items.append(item)
            return
        self._loop.items.append(item)
        if isinstance(item, Swap | RecordedLoop):  # only the whole plan tells what is defined
            self._is_validated = False

    def _after_loop(self, loop: RecordedLoop) -> None:
        """Mark all swapped textures as defined if one is: after a loop, any may hold its texels."""
        swaps = (item for _, item in items_of(loop) if isinstance(item, Swap))
        pairs = {frozenset((swap.first, swap.second)) for swap in swaps}
        for pair in list(pairs) * len(pairs):
            if pair & self._validator.defined:
                self._validator.defined |= pair

    def _count(self, count: Any) -> int | tuple[int, ...]:
        if isinstance(count, LoopExpression):
            iterations = range(self._loop.total if self._loop else 0)
            return tuple(map(self._one_count, values_over(count, self._loop, iterations)))
        return self._one_count(count)

    @staticmethod
    def _one_count(count: Any) -> int:
        number = cast("int", Values(None).integer("count", count))
        if not 0 <= number <= LARGEST_COUNT:
            raise InputError(
                f"a repeat of {described(number)} iterations; give 0 to {LARGEST_COUNT}"
            )
        return number

    def _bindings(self, textures: Mapping[int, Any], program: Program) -> Iterator[Binding]:
        most = DEFAULT_LIMITS.texture_image_units
        for unit, given in indexed("textures", textures, most).items():
            texture, *sampler = given if isinstance(given, tuple | list) else (given,)
            known = self._known(texture)
            target = program.texture_units.get(unit, TextureTarget.RECT)
            if known.kind.value != target.kind.value and unit in program.texture_units:
                raise PlanError(
                    f"{program.name} looks unit {unit} up as {target.value}, but {known.name} is "
                    f"{known.kind.value}; make it with kind={target.kind.value!r}"
                )
            yield Binding(unit, known.name, as_sampler(f"textures[{unit}]", sampler, target))
        for unit in program.texture_units.keys() - textures.keys():
            if not program.texture_units[unit].is_shadow:
                yield Binding(unit, self._unbound(program.texture_units[unit]).name)

    def _unbound(self, target: TextureTarget) -> Texture:
        """The texture that an unbound unit reads: an incomplete one, which is black."""
        name = f"unbound {target.value}"
        return self._validator.textures.get(name) or self.texture(
            name, 1, 1, format="rgba32f", kind=target.value, initial=(0, 0, 0, 1)
        )


_BOX = "!!ARBfp1.0 TEX result.color, fragment.texcoord[0], texture[0], 2D; END"


_ATTRIBUTES = {
    "color": AttributeKind.COLOR,
    "secondary_color": AttributeKind.SECONDARY_COLOR,
    "fogcoord": AttributeKind.FOGCOORD,
}


def _texcoords(
    program: Program, values: Values, given: Mapping[int, Any] | None, rect: Rect | MovingRect
) -> tuple[Texcoords, ...]:
    """The coordinate sets that a program reads. Set 0 defaults to the pixel's own coordinates."""
    sets = indexed("texcoords", given, DEFAULT_LIMITS.texture_coordinate_sets)
    if 0 not in sets:
        sets[0] = Texels()
    for number in program.texcoord_sets:
        if number not in sets:
            raise PlanError(
                f"{program.name} reads fragment.texcoord[{number}], which is not given; give "
                f"texcoords={{{number}: …}}"
            )
    corners = {n: values.corners(f"texcoords[{n}]", value, rect) for n, value in sets.items()}
    return tuple(Texcoords(number, corners[number]) for number in program.texcoord_sets)


def warn_of_mistakes(
    pass_: FragmentPass, texcoords: Mapping[int, Any], textures: Mapping[int, Any]
) -> None:
    """Warn of each probable mistake in a pass. texcoords, textures: as given, by index."""
    from gpgpu_legacy.lower.analysis.program_warnings import program_warnings

    texts = program_warnings(
        pass_.program,
        local_set=[parameter.index for parameter in pass_.locals],
        env_set=[parameter.index for parameter in pass_.env],
        units_bound=textures,
        pixel_sets=() if 0 in texcoords else (0,),
    )
    for text in texts:
        warn(text)
