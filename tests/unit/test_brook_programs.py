"""Whole Brook programs print what NumPy computes; their calls are a plan for every verb."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from gpgpu_legacy.api.host.program import BrookRun, recorded, run_brook
from gpgpu_legacy.api.pipeline import find
from gpgpu_legacy.cli import main
from gpgpu_legacy.errors import GpgpuLegacyError

KERNELS = r"""
#include <stdio.h>
typedef struct { float2 at; float mass; } Body;
kernel void saxpy(float alpha, float x<>, float y<>, out float z<>) { z = alpha * x + y; }
struct { char *name; } alpha;
struct unused { int number; };
kernel void place(out float2 o<>) { o = (indexof o).xy; }
kernel void halved(out float2 o<>) { o = float2(instance().x / 2, instance().y); }
kernel void moved(Body b<>, float2 by, out Body c<>) { c.at = b.at + by; c.mass = 2 * b.mass; }
kernel void picked(float at<>, float table[], out float o<>) { o = table[at]; }
kernel void copied(float2 i<>, out float2 o<>) { o = i; }
kernel void stepped(iter float i<>, out float o<>) { o = i; }
reduce void total(float x<>, reduce float sum<>) { sum += x; }
reduce void most(float4 x<>, reduce float4 m<>) { m = max(m, x); }
void shown(float *data, int n) { int i; for (i = 0; i < n; i++) printf("%g ", data[i]);
    printf("\n"); }
void twice(float x<>, float y<>) { saxpy(2, x, y, y); saxpy(2, x, y, y); }
"""

LAST_LINE = KERNELS.count("\n") + 1

PROGRAMS = {
    "numbers, host functions with streams, and extents at run time": (
        """int n = argc + 3; float x<n, n>, y<n, n>; float a[4][4], b[16]; int i;
        for (i = 0; i < 16; i++) { a[i / 4][i % 4] = i; b[i] = 100 * i; }
        streamRead(x, a); streamRead(y, b); twice(x, y); saxpy(.5, y, x, x); streamWrite(x, a);
        shown(&a[0][0], 16); printf("%g %g", streamSize(x).x, streamSize(x).y);""",
        " ".join(f"{53 * i:g}" for i in range(16)) + " \n4 4",
    ),
    "reductions to numbers, vectors and streams": (
        """float x<6>, part<3>; float4 v<2, 2>, m; float a[6] = {1, 2, 3, 4, 5, 6}, sum;
        float p[3]; int i;
        float4 w[4]; streamRead(x, a); total(x, sum); total(x, part); streamWrite(part, p);
            shown(p, 3);
        for (i = 0; i < 4; i++) w[i] = float4(i, -i, i == 2 ? 9 : 0, 1); streamRead(v, w);
            most(v, m);
        printf("%g %g %g %g %g", sum, m.x, m.y, m.z, m.w);""",
        "3 7 11 \n21 3 0 9 1",
    ),
    "domains of inputs, outputs, reads and writes": (
        """float2 s<3, 4>; float2 t[12]; float2 u[4] = {{7, 7}, {8, 8}, {9, 9}, {6, 6}};
        place(s); copied(s.domain(int2(0, 0), int2(2, 1)), s.domain(int2(2, 2), int2(4, 3)));
        streamRead(s.domain(int2(0, 1), int2(2, 3)), u); streamWrite(s, t); shown((float *)t, 24);
        streamWrite(s.domain(int2(1, 0), int2(3, 2)), u); shown((float *)u, 8);
        place(s.domain(int2(1, 3), int2(4, 3)));
        streamRead(s.domain(int2(0, 0), int2(0, 3)), u);""",
        "0 0 1 0 2 0 3 0 7 7 8 8 2 1 3 1 9 9 6 6 0 0 1 0 \n1 0 2 0 8 8 2 1 \n",
    ),
    "structs, iterators, gathers and swaps": (
        """Body b<2>, c<2>; Body bodies[2] = {{{1, 2}, 3}, {{4, 5}, 6}}; float i<4>, j<4>, o<4>;
        float a[4];
        iter float it<4> = iter(0, 2); iter float2 two<2, 1> = iter(float2(0, 4), float2(1, 8));
            float2 k<2, 1>, h<1, 4>;
        streamRead(b, bodies); moved(b, float2(10, .5), c); streamWrite(c, bodies);
            shown((float *)bodies, 6);
        halved(h); streamPrint(h);
        stepped(it, i); picked(i, it, j); streamSwap(i, j); streamWrite(i, a); shown(a, 4);
        copied(two, k); streamPrint(k); o = j; streamPrint(o); saxpy(1, it, o, o);
            streamPrint(o);""",
        "11 2.5 6 14 5.5 12 \n{0.00, 0.00}{0.00, 0.00}{1.00, 0.00}{1.00, 0.00}\n"
        "0 0.5 0.5 1 \n{0.00, 4.00}\n{0.00, 6.00}\n"
        "0.00 0.50 1.00 1.50 \n0.00 1.00 2.00 3.00 \n",
    ),
    "gather and scatter operations": (
        """float m<4>, g<3>, s<3>; float2 at<3>; float index<3>; float a[4] = {10, 20, 30, 40};
        float k[3] = {2, 0, 2}, v[3] = {1, 2, 3}; streamRead(m, a); streamRead(index, k);
            streamRead(s, v);
        streamGatherOp(g, index, m, total); streamPrint(g); streamPrint(m);
        streamScatterOp(m, index, s, STREAM_SCATTER_ADD); streamPrint(m);
        streamScatterOp(s, index, m, total); streamPrint(s);""",
        "30.00 10.00 60.00 \n20.00 20.00 120.00 40.00 \n22.00 20.00 124.00 40.00 \n"
        "125.00 24.00 127.00 \n",
    ),
}  # fmt: skip


@pytest.fixture
def brook(tmp_path: Path):
    def write(body: str) -> Path:
        path = tmp_path / "p.br"
        path.write_text(f"{KERNELS}int main(int argc, char **argv) {{ {body} return 0; }}")
        return path

    return write


@pytest.mark.parametrize("executor", ["numpy", "jit"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_print_what_numpy_computes(name: str, executor: str, brook) -> None:
    body, expected = PROGRAMS[name]
    assert run_brook(brook(body), executor=executor).stdout == expected


@pytest.mark.gl
@pytest.mark.parametrize("executor", ["gl-raster", "gl-compute"])
def test_programs_run_on_opengl(executor: str, brook) -> None:
    for body, expected in PROGRAMS.values():
        assert run_brook(brook(body), executor=executor).stdout == expected


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("float x<3>; saxpy(1, x, x);", "takes 4 arguments, not 3"),
        ("float x<3>; total(x, y);", "there is no y"),
        ("float x<0>;", "stream x has an extent below 1"),
        ("float x<9000, 9000>;", "hold 67108864 numbers at most"),
        ("float x<3>; streamWrite(x.domain(1, 5), 0);", "the domain from 1 to 5"),
        ("float x<3>; float a[2]; streamWrite(x, a);", "outside of an object"),
        ("float a[2]; streamRead(a, a);", "float * cannot become a stream"),
        ("int x<3>;", "a stream of int"),
        ('float z<2>; saxpy("abc", z, z, z);', "char * cannot become float"),
        ("struct { char a[4]; } q; float z<2>; saxpy(q, z, z, z);", "cannot become float"),
        ("float4 v<2>; float m; most(v, m);", "a value or a shape does not fit here"),
        ("float x<3>; void *f = twice; void (*p)(int) = f; p(3);", "no function of its own type"),
        ("iter float i<3>;", "an iterator needs two ends"),
    ],
)
def test_what_does_not_fit_is_said_in_a_line_with_its_place(body: str, said: str, brook) -> None:
    path = brook(body)
    with pytest.raises(GpgpuLegacyError) as caught:
        run_brook(path)
    first = str(caught.value).splitlines()[0]
    assert said in first
    assert first.startswith(f"{path}:{LAST_LINE}:")


def test_calls_are_a_plan_that_gives_the_same(tmp_path: Path, brook) -> None:
    """C changes what streams hold between calls: then a recorded input takes their place."""
    path = brook(
        """float x<4>, y<4>, z<4>; float a[4] = {1, 2, 3, 4}, sum;
        streamRead(x, a); streamRead(y, a); saxpy(3, x, y, z); saxpy(1, z, z, y);
        a[0] = sum = 5; streamRead(x, a); streamSwap(y, z);
        saxpy(2, x, z, x); total(x, sum); printf("%g", sum);"""
    )
    pipeline, inputs = recorded(str(path))
    done = pipeline.run(inputs, executor="numpy")
    first = np.array([1, 2, 3, 4], np.float32)
    y = 8 * first
    x = 2 * np.array([5, 2, 3, 4], np.float32) + y
    assert_array_equal(done.outputs["y"], y)
    assert [float(v.sum()) for n, v in done.outputs.items() if n == "sum"] == [x.sum()]
    assert run_brook(path).stdout == f"{x.sum():g}"
    assert sorted(inputs) == ["x", "x-2", "y"]
    assert pipeline.count().total.passes >= 4


def test_the_command_line_runs_counts_and_dumps(
    tmp_path: Path, brook, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = brook(
        """float x<4>; float a[4] = {1, 2, 3, 4}; streamRead(x, a); saxpy(3, x, x, x);
        streamPrint(x); printf("%s", argv[1]); return 5;"""
    )

    def command(*words: object) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["gpgpu-legacy", *map(str, words)])
        with pytest.raises(SystemExit) as left:
            main()
        return left.value.code or 0, capfd.readouterr().out

    assert command("run", path, "--executor", "numpy", "--", "--debug") == (
        5, "4.00 8.00 12.00 16.00 \n--debug",
    )  # fmt: skip
    assert "passes" in command("count", path, "--", "x")[1]
    assert command("dump", path, "-o", tmp_path / "plan", "--", "x")[0] == 0
    out = tmp_path / "x.npy"
    assert command("run", tmp_path / "plan/plan.json", "-o", f"x={out}")[0] == 0
    assert_array_equal(np.load(out), [4, 8, 12, 16])
    arrays = np.load(tmp_path / "plan/x.npy")
    assert_array_equal(find(str(tmp_path / "plan/plan.json")).run(x=arrays).x, [4, 8, 12, 16])


def test_names_of_files_are_bytes(tmp_path: Path, brook) -> None:
    """An argument that is not UTF-8, a file whose name is not ASCII, and a link to itself."""
    (tmp_path / "é.txt").write_text("x")
    (tmp_path / "loop.h").symlink_to("loop.h")
    path = brook(
        r"""FILE *file = fopen("\xc3\xa9.txt", "r");
        return argv[1][0] == '\xff' && fgetc(file) == 'x' && !fopen("loop.h", "r");"""
    )
    assert run_brook(path, "\udcff").status == 1
    path.write_text('#include "loop.h"\n')
    with pytest.raises(GpgpuLegacyError, match="there is no file"):
        run_brook(path)


def test_a_run_is_a_result(brook) -> None:
    done = run_brook(brook('float x<4>, y; total(x, y); fprintf(stderr, "e"); return 2;'))
    assert isinstance(done, BrookRun)
    assert (done.calls, done.status, done.stderr) == (1, 2, "e")
