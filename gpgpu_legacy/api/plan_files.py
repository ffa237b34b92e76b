"""The inputs and outputs of plans in files: arrays, matrices and pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.api.matrices import matrix_writer, read_matrix
from gpgpu_legacy.api.texels import PICTURES, read_texels, texel_writer
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.files import check_distinct
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.pipeline.inputs import matrices_of
from gpgpu_legacy.pipeline.packings import CHANNELS
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.plan.textures import Matrix


def read_inputs(plan: Plan, files: Mapping[str, Path]) -> dict[str, NDArray[Any]]:
    """The plan's inputs from files, by name.

    A .npy holds an array of the input's own shape; .csv and .mtx hold matrices. A picture becomes
    (H, W, 4), or the grey of (H, W), with its lowest row first. Raises InputError for a name that
    is not an input's, and for files that cannot be read.
    """
    matrices = matrices_of(plan, "input", plan.operands, files)
    return {name: _read(path, matrices[name]) for name, path in files.items()}


def _read(path: Path, matrix: Matrix) -> NDArray[Any]:
    suffix = path.suffix.lower()
    if suffix in PICTURES:
        texels = read_texels(path)
        return texels if len(matrix.array_shape) == 3 else texels[..., 0]
    if suffix == ".npy":
        return read_texels(path)
    array = read_matrix(path)
    return array.reshape(-1) if len(matrix.array_shape) == 1 else array


def output_writers(
    plan: Plan, files: Mapping[str, Path]
) -> Callable[[Mapping[str, F32]], list[Path]]:
    """A function that writes outputs to these files, by name; they are checked at once.

    .npy holds every shape, .csv and .mtx matrices, .png pictures of (H, W, 4) and of (H, W), which
    is grey: 0 black, 1 white, the last row at the top.
    """
    matrices = matrices_of(plan, "output", plan.results, files)
    writers = {name: _writer(path, matrices[name]) for name, path in files.items()}
    check_distinct(files)

    def write(outputs: Mapping[str, F32]) -> list[Path]:
        for name, writer in writers.items():
            writer(outputs[name])
        return list(files.values())

    return write


def _writer(path: Path, matrix: Matrix) -> Callable[[F32], None]:
    suffix, shape = path.suffix.lower(), matrix.array_shape
    if suffix == ".npy" or (len(shape) == 3 and shape[2] == CHANNELS):
        return texel_writer(path)
    if suffix == ".png" and len(shape) == 2:
        write = texel_writer(path)
        return lambda values: write(np.repeat(values[..., None], CHANNELS, axis=2))
    if len(shape) == 2:
        return matrix_writer(path)
    raise InputError(
        f"{path} cannot hold {matrix.name}, which has the shape {shape}; let it end in .npy"
    )
