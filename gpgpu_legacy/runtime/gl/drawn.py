"""Prepared plans whose passes are draws: the common part of gl-raster and gl-arbfp.

The context must be current for every method.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any, ClassVar, NamedTuple, TypeVar

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import NoDeviceRoomError, PlanError
from gpgpu_legacy.interp.numeric import Stored
from gpgpu_legacy.plan.framebuffer import Blend, Equation
from gpgpu_legacy.plan.numbers import NumberVec4
from gpgpu_legacy.plan.plan import (
    Binding,
    ClearPass,
    CopyPass,
    FragmentPass,
    Pass,
    Plan,
    written_by,
)
from gpgpu_legacy.plan.sampling import border_of
from gpgpu_legacy.plan.textures import (
    DEFAULT_SAMPLER,
    Extent,
    Format,
    Numeric,
    Rect,
    Sampler,
    Texture,
    TextureKind,
    Wrap,
    constant_rect,
)
from gpgpu_legacy.runtime.gl.headers import GL
from gpgpu_legacy.runtime.gl.prepared import Call, GlPrepared, record_steps
from gpgpu_legacy.runtime.gl.sharing import GlName, Releasable, SharedContext
from gpgpu_legacy.runtime.gl.transfers import DeviceTransfers
from gpgpu_legacy.runtime.gl.values import Viewport, clear_values, of_iteration, viewport
from gpgpu_legacy.runtime.machine import Machine

# What is set -------------------------------------------------------------------------------------
#
# What is known to be set on a context, so that nothing is set twice: by draws, clears and copies.
#
# The context must be current for every method.


class Operations(NamedTuple):
    """What happens to fragments: their blend, the channels that are written, and the scissor."""

    blend: Blend | None = None
    mask: str = "rgba"
    scissor: Viewport | None = None


Sampled = tuple[int, int, int, int, tuple[int, int]]
"""A texture unit, the target, texture and sampler bound to it, and the levels that it reads."""


class Bound:
    """The state that is known of the context, so that nothing is set twice."""

    def __init__(self, gl: Any) -> None:
        """gl: OpenGL's functions. Nothing is known of the context yet."""
        self.gl = gl
        self._known: dict[object, object] = {}

    def forget(self) -> None:
        """Forget all: others have used the context."""
        self._known.clear()

    def changes(self, what: object, value: object) -> bool:
        """Whether a part of the state is not known to have this value; from now on it is."""
        if what in self._known and self._known[what] == value:
            return False
        self._known[what] = value
        return True

    def aim(self, framebuffer: int) -> None:
        """Bind the framebuffer that is drawn to, cleared or read next."""
        if self.changes("framebuffer", framebuffer):
            self.gl.glBindFramebuffer(GL.FRAMEBUFFER, framebuffer)

    def texture(self, unit: int, target: int, number: int) -> None:
        """Bind a texture to a unit, which becomes the active one."""
        self.gl.glActiveTexture(GL.TEXTURE0 + unit)
        self.gl.glBindTexture(target, number)
        self._known[unit, target] = number

    def look_up(self, sampled: Sampled) -> None:
        """Bind a texture and a sampler to a unit."""
        unit, target, number, sampler, levels = sampled
        if self.changes((unit, target), number):
            self.texture(unit, target, number)
        if self.changes(("sampler", unit), sampler):
            self.gl.glBindSampler(unit, sampler)
        if self.changes(("levels", number), levels):
            self.texture(unit, target, number)
            self.gl.glTexParameteri(target, GL.TEXTURE_BASE_LEVEL, levels[0])
            self.gl.glTexParameteri(target, GL.TEXTURE_MAX_LEVEL, levels[1])

    def operate(self, operations: Operations) -> None:
        """Set what happens to fragments; clears obey the mask and the scissor, too."""
        if not self.changes("operations", operations):
            return
        gl = self.gl
        blend, mask, scissor = operations
        for capability, on in ((GL.BLEND, blend), (GL.SCISSOR_TEST, scissor)):
            (gl.glEnable if on else gl.glDisable)(capability)
        gl.glColorMask(*(channel in mask for channel in "rgba"))
        if scissor is not None:
            gl.glScissor(*scissor)
        if blend is not None:
            weighs = blend.equation not in (Equation.MIN, Equation.MAX)
            gl.glBlendEquation(getattr(GL, "FUNC_" * weighs + blend.equation.name))
            gl.glBlendFunc(*(getattr(GL, f.name) for f in (blend.source, blend.destination)))
            gl.glBlendColor(*blend.constant)

    def view(self, rect: Viewport) -> None:
        """Set the viewport."""
        if self.changes("viewport", rect):
            self.gl.glViewport(*rect)


# Surfaces ----------------------------------------------------------------------------------------
#
# Textures that are drawn to, with their framebuffers and samplers.
#
# moderngl knows neither rectangle nor 1D textures, nor faces of cubes as targets, so these are
# OpenGL's own calls. The context must be current for every method.


_LAYOUTS = {1: GL.RED, 2: GL.RG, 4: GL.RGBA}
_COMPONENTS = {
    (Numeric.FLOAT, 16): GL.HALF_FLOAT,
    (Numeric.FLOAT, 32): GL.FLOAT,
    (Numeric.UNORM, 8): GL.UNSIGNED_BYTE,
    (Numeric.UNORM, 16): GL.UNSIGNED_SHORT,
}


def _texels(texel_format: Format, *, compared: bool) -> tuple[int, int, int]:
    """A format in OpenGL's constants: as a texture stores it, its channels and their type.

    Grey and alpha are stored as R and RG, and swizzled (ARB_texture_swizzle), because core profiles
    have no such formats. compared: whether the driver is to compare depths.
    """
    channels, bits = texel_format.channels, texel_format.bits_per_channel
    numeric = texel_format.numeric
    name = f"{'RGBA'[:channels]}{bits}{'F' if numeric is Numeric.FLOAT else ''}"
    layout = _LAYOUTS[channels]
    if texel_format.is_depth and compared:
        name, layout = f"DEPTH_COMPONENT{name.removeprefix('R')}", GL.DEPTH_COMPONENT
    return getattr(GL, name), layout, _COMPONENTS[numeric, bits]


@frozen
class GlTarget:
    """A texture target in OpenGL's constants.

    dimensions: the digit in the names of its functions. limit: the state variable of the largest
    size. faces: the target of the first of a cube map's six images.
    """

    name: int
    dimensions: int
    limit: int
    noun: str
    faces: int | None = None

    def image(self, layer: int) -> int:
        """The target of the image that has this layer."""
        return self.name if self.faces is None else self.faces + layer

    def leading(self, x: int, y: int, layer: int) -> tuple[int, ...]:
        """As many of three offsets or sizes as its functions take."""
        return (x, y, layer)[: self.dimensions]


TARGETS = {
    TextureKind.RECT: GlTarget(
        GL.TEXTURE_RECTANGLE, 2, GL.MAX_RECTANGLE_TEXTURE_SIZE, "rectangle texture"
    ),
    TextureKind.T1D: GlTarget(GL.TEXTURE_1D, 1, GL.MAX_TEXTURE_SIZE, "1D texture"),
    TextureKind.T2D: GlTarget(GL.TEXTURE_2D, 2, GL.MAX_TEXTURE_SIZE, "2D texture"),
    TextureKind.T3D: GlTarget(GL.TEXTURE_3D, 3, GL.MAX_3D_TEXTURE_SIZE, "3D texture"),
    TextureKind.CUBE: GlTarget(
        *(GL.TEXTURE_CUBE_MAP, 2, GL.MAX_CUBE_MAP_TEXTURE_SIZE, "cube map"),
        faces=GL.TEXTURE_CUBE_MAP_POSITIVE_X,
    ),
}

Surface = tuple[str, int]
"""A texture by name, and one of its layers, those of level 0 first."""


class Image(NamedTuple):
    """A texture as OpenGL has it.

    extent: its size there. number: OpenGL's own for it. internal: the format of stored texels.
    layout, component: the channels and type of texels in memory.
    """

    texture: Texture
    target: GlTarget
    extent: Extent
    number: int
    internal: int
    layout: int
    component: int

    @property
    def layers(self) -> list[tuple[int, int, Extent]]:
        """The level of each of its images, the layer in it, and the size of that level."""
        levels = ((n, self.extent.level(n, self.texture.kind)) for n in range(self.extent.levels))
        return [(n, layer, level) for n, level in levels for layer in range(level.depth)]

    def parts(self, rect: Rect) -> Iterator[tuple[int, Rect, int]]:
        """The parts of a rectangle of its rows, one for each image that it meets.

        Each is the image's number, the rectangle in it, and how many rows of the whole come before.
        """
        end = rect.y + rect.height
        for number, (level, layer, size) in enumerate(self.layers):
            start = self.extent.first_row(level) + layer * size.height
            first, last = max(rect.y, start), min(end, start + size.height)
            width = min(rect.width, size.width - rect.x)
            if first < last and width > 0:
                part = Rect(rect.x, first - start, width, last - first)
                yield number, part, first - rect.y

    @property
    def size(self) -> str:
        """Its size, in words."""
        numbers = (self.extent.width, self.extent.height, self.extent.depth)
        return " by ".join(map(str, numbers[: max(2, self.target.dimensions)]))


class Surfaces:
    """The textures of a plan, with the framebuffers and samplers that draw and look them up."""

    def __init__(
        self,
        context: SharedContext[Any],
        bound: Bound,
        plan: Plan,
        owned: list[Releasable],
        *,
        flat: bool,
    ) -> None:
        """Allocate the textures.

        Raises PlanError, before anything is allocated, if the plan exceeds the driver's limits.
        owned: the list that owns the new objects; its holder releases them. The holder itself is
        not known here: objects in the list may refer to this, and would keep the holder alive.
        flat: every texture is a 2D one, its layers one above the other, and texels are fetched,
        without a sampler's help.
        """
        self._context, self._bound, self._plan, self._owned = context, bound, plan, owned
        self._gl, self._flat = context.gl, flat
        self._images: dict[str, Image] = {}
        self._framebuffers: dict[tuple[Surface, ...], int] = {}
        self._samplers: dict[tuple[Sampler, Format], int] = {}
        self._gl.glGetError()  # of whoever used the context before
        for texture in plan.textures:
            image = self._images[texture.name] = self._image(texture)
            self._require_room(image)
        targets = max((len(written_by(pass_)) for pass_ in plan.as_written), default=0)
        if targets > (most := context.integer(GL.MAX_DRAW_BUFFERS)):
            raise PlanError(
                f"plan {plan.name}: a pass draws to {targets} textures, but {context.renderer} can "
                f"draw to {most} at once; use more passes"
            )
        for image in self._images.values():
            self._allocate(image)

    def _image(self, texture: Texture) -> Image:
        extent, kind = texture.extent, texture.kind
        if self._flat:
            extent, kind = Extent(extent.width, extent.rows), TextureKind.T2D
        formats = _texels(texture.format, compared=not self._flat)
        return Image(texture, TARGETS[kind], extent, self._make("Textures"), *formats)

    def _make(self, kind: str) -> int:
        name = GlName.generated(self._gl, kind)
        self._owned.append(name)
        return name.number

    def check(self, what: str) -> None:
        """Raise PlanError if GL has reported an error since the last check."""
        error = self._gl.glGetError()
        if error == GL.NO_ERROR:
            return
        refused = (
            f"plan {self._plan.name}: {self._context.renderer} refuses {what} (GL error {error:#x})"
        )
        if error == GL.OUT_OF_MEMORY:
            raise NoDeviceRoomError(f"{refused}; plan with a smaller largest texture")
        raise PlanError(refused)

    def _require_room(self, image: Image) -> None:
        extent, target = image.extent, image.target
        largest = self._context.integer(target.limit)
        if max(target.leading(extent.width, extent.height, extent.depth)) > largest:
            raise PlanError(
                f"texture {image.texture.name} is {image.size}, but the largest {target.noun} of "
                f"{self._context.renderer} is {largest}; plan with --largest-texture {largest}"
            )

    def _allocate(self, image: Image) -> None:
        """Allocate a texture, and check that it can be drawn to."""
        texture, target = image.texture, image.target
        self._bound.texture(0, target.name, image.number)
        allocate = getattr(self._gl, f"glTexImage{target.dimensions}D")
        formats = (image.layout, image.component)
        for level, layer, size in image.layers:
            sizes = target.leading(size.width, size.height, size.depth)
            if target.faces is not None or not layer:
                allocate(target.image(layer), level, image.internal, *sizes, 0, *formats, None)
        for parameter in (GL.TEXTURE_BASE_LEVEL, GL.TEXTURE_MAX_LEVEL):
            self._gl.glTexParameteri(target.name, parameter, 0)
        reads = texture.format.reads
        if not texture.format.is_drawn_to:
            sources = [int(s) if s in "01" else GL.RED + "rgba".index(s) for s in reads]
            self._gl.glTexParameteriv(
                target.name, GL.TEXTURE_SWIZZLE_RGBA, sources
            )  # GL_ZERO is 0, GL_ONE is 1, and GL_GREEN to GL_ALPHA follow GL_RED
        self.check(f"texture {texture.name} of {image.size} texels")
        if image.layout != GL.DEPTH_COMPONENT:
            self.framebuffer((texture.name, 0))

    def framebuffers(self, name: str) -> list[int]:
        """The framebuffers of all layers of a texture."""
        layers = range(len(self._images[name].layers))
        return [self.framebuffer((name, layer)) for layer in layers]

    def framebuffer(self, *surfaces: Surface) -> int:
        """The framebuffer whose colour n is surface n."""
        if surfaces in self._framebuffers:
            return self._framebuffers[surfaces]
        gl = self._gl
        number = self._make("Framebuffers")
        self._bound.aim(number)
        attachments = [GL.COLOR_ATTACHMENT0 + n for n in range(len(surfaces))]
        for attachment, (name, number_) in zip(attachments, surfaces, strict=True):
            image = self._images[name]
            level, layer, _ = image.layers[number_]
            attach = getattr(gl, f"glFramebufferTexture{image.target.dimensions}D")
            slices = (layer,) if image.target.dimensions == 3 else ()
            attach(
                *(GL.FRAMEBUFFER, attachment, image.target.image(layer)),
                *(image.number, level, *slices),
            )
        gl.glDrawBuffers(len(surfaces), attachments)
        if gl.glCheckFramebufferStatus(GL.FRAMEBUFFER) != GL.FRAMEBUFFER_COMPLETE:
            images = [self._images[name] for name, _ in surfaces]
            described = (f"a {i.target.noun} of {i.texture.format.name}" for i in images)
            raise PlanError(
                f"{self._context.renderer} cannot draw to "
                f"{' and '.join(i.texture.name for i in images)}, {' and '.join(described)}"
            )
        self._framebuffers[surfaces] = number
        return number

    def sampled(self, binding: Binding) -> Sampled:
        """What the unit of a binding is to read."""
        image = self._images[binding.texture]
        sampler = DEFAULT_SAMPLER if self._flat else binding.sampler
        levels = (sampler.base_level, min(sampler.max_level, image.extent.levels - 1))
        number = self._sampler(image.texture, sampler)
        return binding.unit, image.target.name, image.number, number, levels

    def _sampler(self, texture: Texture, sampler: Sampler) -> int:
        """A sampler for a texture; those of cube maps always clamp to the edge."""
        if texture.kind is TextureKind.CUBE:
            edge = Wrap.CLAMP_TO_EDGE
            sampler = replace(sampler, wrap_s=edge, wrap_t=edge, wrap_r=edge)
        key = (sampler, texture.format)
        if key not in self._samplers:
            gl = self._gl
            number = self._samplers[key] = self._make("Samplers")
            for name, choice in (
                ("MIN_FILTER", sampler.filter),
                ("MAG_FILTER", sampler.magnifying),
                ("WRAP_S", sampler.wrap_s),
                ("WRAP_T", sampler.wrap_t),
                ("WRAP_R", sampler.wrap_r),
            ):
                parameter = getattr(GL, f"TEXTURE_{name}")
                gl.glSamplerParameteri(number, parameter, getattr(GL, choice.name))
            gl.glSamplerParameterf(number, GL.TEXTURE_LOD_BIAS, sampler.bias)
            gl.glSamplerParameterf(number, GL.TEXTURE_MIN_LOD, sampler.min_lod)
            gl.glSamplerParameterf(number, GL.TEXTURE_MAX_LOD, sampler.max_lod)
            if sampler.compare is not None:
                gl.glSamplerParameteri(number, GL.TEXTURE_COMPARE_MODE, GL.COMPARE_R_TO_TEXTURE)
                compare = getattr(GL, sampler.compare.name)
                gl.glSamplerParameteri(number, GL.TEXTURE_COMPARE_FUNC, compare)
            border = border_of(sampler, texture.format)
            gl.glSamplerParameterfv(number, GL.TEXTURE_BORDER_COLOR, border)
        return self._samplers[key]

    # To and from the host ------------------------------------------------------------------

    def write(self, name: str, rect: Rect, stored: Stored | int) -> None:
        """Set a rectangle to texels (height, width, channels), as its format stores them.

        stored: the texels, or the byte where they begin in the unpack buffer.
        """
        image, first = self._images[name], _address(stored)
        target, formats = image.target, (image.layout, image.component)
        copy = getattr(self._gl, f"glTexSubImage{target.dimensions}D")
        self._bound.texture(0, target.name, image.number)
        self._gl.glPixelStorei(GL.UNPACK_ROW_LENGTH, rect.width)
        for number, part, rows in image.parts(rect):
            level, layer, _ = image.layers[number]
            sizes = target.leading(part.width, part.height, 1)
            there = first + rows * rect.width * image.texture.format.texel_bytes
            place = (*target.leading(part.x, part.y, layer), *sizes)
            copy(target.image(layer), level, *place, *formats, there)
        self._gl.glPixelStorei(GL.UNPACK_ROW_LENGTH, 0)

    def read(self, name: str, rect: Rect, stored: Stored | int) -> None:
        """Fill a contiguous array of such texels from a rectangle.

        stored: the array, or the byte where they are to begin in the pack buffer.
        """
        image, first = self._images[name], _address(stored)
        formats = (image.layout, image.component)
        self._bound.forget()  # others may have run since an observer was called
        self._gl.glPixelStorei(GL.PACK_ROW_LENGTH, rect.width)
        for number, part, rows in image.parts(rect):
            self._bound.aim(self.framebuffer((name, number)))
            there = first + rows * rect.width * image.texture.format.texel_bytes
            self._gl.glReadPixels(part.x, part.y, part.width, part.height, *formats, there)
        self._gl.glPixelStorei(GL.PACK_ROW_LENGTH, 0)
        self.check("this run")

    def copy(self, pass_: CopyPass) -> Call:
        """A recorded copy, from a rectangle within one image to one within another.

        It goes from the framebuffer to the texture, as in Section 3 of Hall, Carr & Hart.
        """
        image, bound = self._images[pass_.target], self._bound
        [(number, start, _)] = self._images[pass_.source].parts(constant_rect(pass_.source_rect))
        [(there, end, _)] = image.parts(constant_rect(pass_.target_rect))
        level, layer, _ = image.layers[there]
        framebuffer = self.framebuffer((pass_.source, number))

        def run(_: int) -> None:
            bound.aim(framebuffer)
            bound.texture(0, image.target.name, image.number)
            bound.gl.glCopyTexSubImage2D(
                *(image.target.image(layer), level, end.x, end.y),
                *(start.x, start.y, end.width, end.height),
            )

        return run


def _address(stored: Stored | int) -> int:
    return stored if isinstance(stored, int) else stored.ctypes.data


# Draws -------------------------------------------------------------------------------------------


_Shared = TypeVar("_Shared", bound=SharedContext[Any])

Paint = Callable[[int], object]
"""Draws the rectangle of the viewport, by the program of a pass, in an iteration."""


class Draw:
    """A recorded draw of a rectangle, and all that it sets; call it with the iteration."""

    def __init__(self, bound: Bound, surfaces: Surfaces, pass_: FragmentPass, paint: Paint) -> None:
        """paint: sets the pass's program, and draws."""
        self._bound, self._paint = bound, paint
        self._textures = [surfaces.sampled(binding) for binding in pass_.bindings]
        self._framebuffer = surfaces.framebuffer(*((name, 0) for name in pass_.targets))
        self._viewport = viewport(constant_rect(pass_.rect))
        scissor = viewport(constant_rect(pass_.scissor)) if pass_.scissor else None
        self._operations = Operations(pass_.blend, pass_.mask, scissor)

    def __call__(self, iteration: int) -> None:
        """Draw that iteration."""
        bound = self._bound
        for sampled in self._textures:
            bound.look_up(sampled)
        bound.aim(self._framebuffer)
        bound.operate(self._operations)
        bound.view(self._viewport)
        self._paint(iteration)

    def warm_up(self) -> None:
        """Draw one fragment.

        Drivers compile a program for the textures and the target of its first draw, and a run's
        time excludes compiling.
        """
        whole = self._viewport
        self._viewport = (*whole[:2], 1, 1)
        self(0)
        self._viewport = whole


class DrawnPrepared(GlPrepared[_Shared]):
    """A plan's textures, framebuffers, samplers, programs and draws."""

    flat: ClassVar[bool]
    """See Surfaces."""

    def __init__(self, context: _Shared, bound: Bound, plan: Plan, machine: Machine) -> None:
        """See GlPrepared."""
        self._bound = bound
        super().__init__(context, plan, machine)

    def _build(self) -> None:
        self._store = self._surfaces = Surfaces(
            self.context, self._bound, self.plan, self._owned, flat=self.flat
        )
        self._make_transfers(self._device_transfers())
        self._recorded = {id(p): record_steps(p, self._record) for p in self.parts.leaves}
        self._begin(observed=False)
        for group in chain.from_iterable(self._recorded.values()):
            for call in group.calls:
                if isinstance(call, Draw):  # the textures hold nothing yet that it could overwrite
                    call.warm_up()
        self.context.finish()
        self._surfaces.check("what this plan draws with")

    def _device_transfers(self) -> DeviceTransfers | None:
        """The transfers that the device packs and unpacks, if any."""
        return None

    def _record(self, pass_: Pass, count: int) -> Call:
        match pass_:
            case FragmentPass():
                paint = self._record_draw(pass_, count)
                return Draw(self._bound, self._surfaces, pass_, paint)
            case CopyPass():
                return self._surfaces.copy(pass_)
            case ClearPass():
                return self._clear(pass_.target, pass_.value, count)
        raise AssertionError(pass_)  # the executor has no other passes

    @abstractmethod
    def _record_draw(self, pass_: FragmentPass, count: int) -> Paint:
        """The function that sets the program of a pass, and draws."""

    def _clear(self, name: str, value: NumberVec4, count: int = 1) -> Call:
        bound, framebuffers = self._bound, self._surfaces.framebuffers(name)
        values = clear_values(value, self.plan.texture(name).format, count).tolist()

        def clear(iteration: int) -> None:
            bound.operate(Operations())
            bound.gl.glClearColor(*of_iteration(values, iteration))
            for framebuffer in framebuffers:
                bound.aim(framebuffer)
                bound.gl.glClear(GL.COLOR_BUFFER_BIT)

        return clear
