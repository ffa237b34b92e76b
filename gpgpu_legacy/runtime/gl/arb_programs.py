"""Programs in the driver of gl-arbfp: fragment programs, and the vertex program before them."""

from __future__ import annotations

from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.isa.ir import Attribute, AttributeKind, ParameterSpace, Program
from gpgpu_legacy.isa.state import parse_vector
from gpgpu_legacy.languages.arb.printer import disassemble
from gpgpu_legacy.runtime.gl.compatibility import Context
from gpgpu_legacy.runtime.gl.environments import Environments, require_unit
from gpgpu_legacy.runtime.gl.headers import GL
from gpgpu_legacy.runtime.gl.sharing import Name

# The generic vertex attribute of each attribute of the fragment. The numbers are those of the
# conventional attributes, because some drivers have one set for both.
POSITION = 0
_ATTRIBUTES = {
    AttributeKind.COLOR: 3,
    AttributeKind.SECONDARY_COLOR: 4,
    AttributeKind.FOGCOORD: 5,
    AttributeKind.TEXCOORD: 8,  # set 0, then the others
}
_TEXCOORD_SETS = 8

# It passes vertices through unchanged. Fixed-function vertices would be transformed by matrices,
# which belong to fragment programs here, and would lose the alpha of the secondary colour.
_VERTEX_PROGRAM = "\n".join(
    [
        "!!ARBvp1.0",
        f"MOV result.position, vertex.attrib[{POSITION}];",
        f"MOV result.color, vertex.attrib[{_ATTRIBUTES[AttributeKind.COLOR]}];",
        f"MOV result.color.secondary, vertex.attrib[{_ATTRIBUTES[AttributeKind.SECONDARY_COLOR]}];",
        f"MOV result.fogcoord, vertex.attrib[{_ATTRIBUTES[AttributeKind.FOGCOORD]}];",
        *(
            f"MOV result.texcoord[{n}], vertex.attrib[{_ATTRIBUTES[AttributeKind.TEXCOORD] + n}];"
            for n in range(_TEXCOORD_SETS)
        ),
        "END",
    ]
)


class LoadedProgram:
    """A program that the driver holds. It is deleted with the last reference to this.

    attributes: those that each vertex must have. locals, env: the parameters that it reads.
    """

    def __init__(self, context: Context, stage: int, text: str, who: str) -> None:
        """Load the text; PlanError, which names `who`, if the driver refuses it."""
        gl = context.gl
        name = Name.generated(gl, "ProgramsARB")
        encoded = text.encode("ascii")
        gl.glBindProgramARB(stage, name.number)
        gl.glProgramStringARB(stage, GL.PROGRAM_FORMAT_ASCII, len(encoded), encoded)
        position = context.integer(GL.PROGRAM_ERROR_POSITION)
        if position != -1:
            name.release()
            gl.glGetError()
            message = gl.glGetString(GL.PROGRAM_ERROR_STRING).decode("ascii", "replace")
            raise PlanError(
                f"{context.renderer} refuses {who} at position {position}: "
                f"{' '.join(message.split())}"
            )
        context.release_with(self, [name])
        self.number = name.number
        self.attributes: tuple[Attribute, ...] = ()
        self.locals: tuple[int, ...] = ()
        self.env: tuple[int, ...] = ()


def load(context: Context, program: Program) -> LoadedProgram | Environments:
    """A fragment program, loaded once as long as it is in use; PlanError if the driver refuses it.

    A Program that stands for texture environments gives the driver's own.
    """
    if state := program.state:
        return context.program(program, lambda: Environments(context, program, state))

    def make() -> LoadedProgram:
        who = f"program {program.name or 'without a name'}"
        for binding in program.state_bindings:
            names, indices = parse_vector(binding)
            if names[0] == "texenv" and indices:
                require_unit(context, indices[0], f"{who} reads {binding}")
        loaded = LoadedProgram(context, GL.FRAGMENT_PROGRAM, disassemble(program), who)
        attributes = [a for a in program.attributes_read if a.kind is not AttributeKind.POSITION]
        if program.fog is not None:
            attributes.append(Attribute(AttributeKind.FOGCOORD))
        loaded.attributes = tuple(dict.fromkeys(attributes))
        loaded.locals = program.parameter_indices(ParameterSpace.LOCAL)
        loaded.env = program.parameter_indices(ParameterSpace.ENV)
        return loaded

    return context.program(program, make)


def load_vertex_program(context: Context) -> LoadedProgram:
    """The program that passes vertices through."""
    return context.program(
        _VERTEX_PROGRAM,
        lambda: LoadedProgram(context, GL.VERTEX_PROGRAM, _VERTEX_PROGRAM, "the vertex program"),
    )


def vertex_attribute(attribute: Attribute) -> int:
    """The generic vertex attribute that is interpolated to an attribute of the fragment."""
    return _ATTRIBUTES[attribute.kind] + attribute.index
