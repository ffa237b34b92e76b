"""What the uniforms of a pass's shader hold, by the names that the emitters of GLSL give them."""

from __future__ import annotations

from collections.abc import Container

import numpy as np
from drawing import F32

from gpgpu_legacy.isa.fog import FOG_COLOR, FOG_COORDINATE, FOG_PARAMS
from gpgpu_legacy.isa.ir import Attribute, ParameterSpace
from gpgpu_legacy.isa.state import state_vector
from gpgpu_legacy.lower.emit.glsl import PARAMETERS, attribute_name
from gpgpu_legacy.lower.emit.text import identifier
from gpgpu_legacy.lower.values import given_corners
from gpgpu_legacy.plan.interpolation import triangle_planes
from gpgpu_legacy.plan.numbers import constant_vector
from gpgpu_legacy.plan.plan import ATTRIBUTE_DEFAULTS, FragmentPass, state_values
from gpgpu_legacy.plan.textures import constant_rect

NOTHING = (0.0, 0.0, 0.0, 0.0)


def uniform_rows(pass_: FragmentPass, bent: Container[Attribute]) -> dict[str, F32]:
    """Arrays of rows, as many as the uniform has elements: two of bent attributes, else one."""
    rect, fog = constant_rect(pass_.rect), pass_.program.fog is not None
    rows: dict[str, object] = {
        "origin": [(rect.x, rect.y)],
        "size": [(rect.width, rect.height)],
    }
    corners = given_corners(pass_)
    for attribute in (*pass_.program.attributes_read, *([FOG_COORDINATE] if fog else [])):
        default = ATTRIBUTE_DEFAULTS.get(attribute.kind, NOTHING)
        planes = triangle_planes(corners.get(attribute, (default,) * 4), rect)
        for part in ("base", "dx", "dy"):
            vectors = [getattr(plane, part) for plane in planes]
            name = f"{attribute_name(attribute)}_{part}"
            rows[name] = vectors if attribute in bent else vectors[:1]
    for space, values in ((ParameterSpace.LOCAL, pass_.locals), (ParameterSpace.ENV, pass_.env)):
        for value in values:
            rows[f"{PARAMETERS[space]}{value.index}"] = [constant_vector(value.value)]
    for binding in (*pass_.program.state_bindings, *((FOG_COLOR, FOG_PARAMS) if fog else ())):
        rows[identifier(binding)] = [state_vector(binding, state_values(pass_))]
    return {name: np.array(vectors, np.float32) for name, vectors in rows.items()}
