"""A plan as files: plan.json, its texts for reading, and the GLSL that gl-raster compiles."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np

from gpgpu_legacy.files import Write, text_writer, write_folder
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.languages.registry import disassemble
from gpgpu_legacy.lower.analysis.fusion import decide
from gpgpu_legacy.lower.emit.glsl_fragment import fragment_shader, vertex_shader
from gpgpu_legacy.lower.fragments import shader_key
from gpgpu_legacy.plan.expand import without_tables
from gpgpu_legacy.plan.plan import FragmentPass, Plan
from gpgpu_legacy.plan.serialise import kernel_names, operand_names, plan_as_json, program_names


def dump(
    plan: Plan, folder: Path, *, exact: bool, arrays: Mapping[str, F32] | None = None
) -> list[Path]:
    """Write plan.json, its programs and kernels, and each shader that gl-raster compiles.

    plan.json holds the whole plan; the texts beside it are for reading. folder: created if it does
    not exist; its parent must exist. exact: whether the shaders contract no multiply-add. arrays:
    inputs, which are written beside plan.json, where commands find them. Returns the paths of the
    files, in order.
    """
    texts = {"plan.json": plan_as_json(plan)}
    texts |= {name: disassemble(program) for program, name in program_names(plan).items()}
    texts |= {name: kernel.text for kernel, name in kernel_names(plan).items()}
    run = without_tables(plan)  # in the form that executors get
    keys = dict.fromkeys(
        shader_key(run, pass_, decide(run, pass_), exact=exact) for pass_ in run.only(FragmentPass)
    )
    for number, key in enumerate(keys):
        texts[f"shader-{number}.vert"] = vertex_shader(key.varyings)
        texts[f"shader-{number}.frag"] = fragment_shader(key)
    files: dict[str, Write] = {name: text_writer(text) for name, text in texts.items()}
    for matrix, file in operand_names(plan.operands).items():
        if arrays and matrix.name in arrays:
            files[file] = partial(np.save, arr=arrays[matrix.name])
    write_folder(folder, files)
    return [folder / name for name in files]
