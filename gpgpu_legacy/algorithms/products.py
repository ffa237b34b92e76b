"""The methods of matrix products as algorithms: sizes and options become parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.algorithms.matmul.options import Options, Shape

if TYPE_CHECKING:
    from gpgpu_legacy.algorithms.matmul.method import Method
    from gpgpu_legacy.pipeline.builder import PlanBuilder
    from gpgpu_legacy.pipeline.reference import F64

DEFAULT_SIZE = 256

_MEANINGS = {
    "block": "steps of the sum in one pass, the paper's b",
    "accumulate": "how the partial sum gets from pass to pass",
    "texture_format": "format of textures and framebuffer",
    "transpose_a": "A is stored transposed",
    "transpose_b": "B is stored transposed",
    "as_printed": "texture coordinates exactly as the paper prints them",
    "largest_texture": "width and height of the largest texture, in texels",
    "dynamic": "shared arrays get their size at the launch",
    "alpha": "the result is alpha times the product",
    "beta": "plus beta times C0",
    "adds": "whether there is a C0",
    "coordinates_first": "steps whose coordinates are computed before their lookups",
    "tile": "side of the squares that are drawn one after another, in texels",
}


def as_algorithm(method: Method) -> Algorithm:
    """The product of an m×l by an l×n matrix, by a method."""
    return Algorithm(
        name=method.name,
        year=method.year,
        field="linear algebra",
        source=method.paper,
        summary=method.summary,
        build=_builder(method),
        aliases=method.aliases,
        lacked=method.lacked,
    )


def _builder(method: Method) -> Callable[..., PlanBuilder]:
    """A function of the sizes and of the options that the method has."""
    build: Any = partial(_build, method)
    parameters = [
        _parameter("n", int, DEFAULT_SIZE, "columns of B and of the product"),
        _parameter("m", int | None, None, "rows of A and of the product; n if it is not given"),
        _parameter("l", int | None, None, "columns of A, rows of B; n if it is not given"),
    ]
    kinds = get_type_hints(Options)
    for option in fields(Options):
        if option.name in method.refuses:
            continue
        chosen = getattr(method.defaults, option.name)
        default = option.default if chosen is None else chosen
        kind = kinds[option.name]
        parameters.append(_parameter(option.name, kind, default, _MEANINGS[option.name]))
    build.__signature__ = inspect.Signature(parameters)
    build.__module__ = method.build.__module__
    build.__annotations__ = {one.name: one.annotation for one in parameters}
    return build  # type: ignore[no-any-return]


def _parameter(name: str, kind: Any, default: Any, meaning: str) -> inspect.Parameter:
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, meaning],
    )


def _build(method: Method, **given: Any) -> PlanBuilder:
    n = given.pop("n", DEFAULT_SIZE)
    m, inner = given.pop("m", None), given.pop("l", None)
    shape = Shape(n if m is None else m, n if inner is None else inner, n)
    options = Options(**given)
    p = method.builder(shape, options)
    p.reference = partial(_product, options)
    return p


def _product(options: Options, A: F64, B: F64, C0: F64 | None = None) -> F64:  # noqa: N803
    """The product in float64, by the names that plans give the matrices."""
    a, b = options.turned(A, B)
    product: F64 = options.alpha * (a @ b)
    return product if C0 is None else product + options.beta * C0
