"""Pipelines that multiply two matrices and do nothing else, so that libraries are their peers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import cbrt, ceil
from typing import Any

import numpy as np

from gpgpu_legacy.algorithms.matmul.product import FIELD, Shape, Stored
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.reference import F64

WHOLE_CHECK, ROWS_CHECKED = 1024, 64  # up to how many rows each is checked, and how many above


@dataclass(frozen=True)
class Product:
    """The product A·B that a pipeline computes. stored: which of the two is given transposed."""

    shape: Shape
    stored: Stored

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes by the names that parameters have; n alone where all are equal."""
        shape = self.shape
        square = {"n": shape.n}
        return square if shape.is_square else {"m": shape.m, "l": shape.l, **square}

    @property
    def parameters(self) -> dict[str, Any]:
        """What is computed, by the names that parameters have."""
        return {
            **self.sizes,
            "transpose_a": self.stored.transpose_a,
            "transpose_b": self.stored.transpose_b,
        }

    @property
    def size(self) -> int:
        """N of the n×n product that is as much work."""
        return self.shape.n if self.shape.is_square else ceil(cbrt(self.shape.multiply_adds))

    def scaled(self, size: int) -> dict[str, int]:
        """The sizes of a product that is as much work as one of that size."""
        factor = size / self.size
        return {name: max(1, round(factor * getattr(self.shape, name))) for name in "mln"}

    def factors(self, inputs: Mapping[str, F32]) -> tuple[F32, F32]:
        """A and B as they are multiplied."""
        a, b = self.stored.turned(inputs["A"], inputs["B"])
        return a, b

    def exact(self, inputs: Mapping[str, F32], rows: Any) -> F64:
        """These rows of the product in float64."""
        a, b = self.factors(inputs)
        product: F64 = a[rows].astype(np.float64) @ b.astype(np.float64)
        return product


def product_of(p: PlanBuilder) -> Product | None:
    """The product that a pipeline computes; None for one that computes anything else."""
    if p.family is None or p.family[0].field != FIELD:
        return None
    given = p.parameters
    if given.get("alpha") != 1.0 or given.get("beta") is not None:
        return None
    sides: dict[str, Any] = {
        name: given["n"] if given.get(name) is None else given[name] for name in "mln"
    }
    turned = (bool(given.get(f"transpose_{name}")) for name in "ab")
    return Product(Shape(**sides), Stored(*turned))


def rows_checked(product: Product) -> tuple[Any, int | None]:
    """The rows that are checked, and how many: all (None), or some at random of many."""
    count = product.shape.m
    if count <= WHOLE_CHECK:
        return slice(None), None
    generator = np.random.default_rng(product.size)
    return generator.choice(count, ROWS_CHECKED, replace=False), ROWS_CHECKED
