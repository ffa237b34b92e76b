"""A product in the page beside TensorFlow.js's, in the same browser.

    python benchmarks/browser.py RENDERER [--size N …] > benchmarks/browser-RENDERER.json

RENDERER: llvmpipe, swiftshader, or hardware, which is the GPU of this machine. The page's product
is hall-carr-hart-multi with b = 32, in WebGL2; TensorFlow.js's is tf.matMul in its WebGL backend,
which packs 2×2 elements into a texel.
npm fetches TensorFlow.js into a temporary folder; the page itself needs none of it. Both run in
turn in one Chromium, in contexts of their own; a time ends when one pixel of the product has been
read back. The products are compared with NumPy's. Times are medians, in seconds.
"""

from __future__ import annotations

import json
import subprocess
import sys
from argparse import ArgumentParser
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "browser"))

from browser_pages import RENDERERS, Browsers, Modules, Opener, browser_path  # from tests/
from turns import medians_in_turn, print_result  # from benchmarks/

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.measure.timing import OtherWork
from gpgpu_legacy.page.scenes import PLAYER, Scene, scene_of, shaders_of
from gpgpu_legacy.runtime.devices import processor_name
from gpgpu_legacy.serial import Record, Recorded, plain, provenance

F32 = NDArray[np.float32]

METHOD, BLOCK = "hall-carr-hart-multi", 32
SIZES = (512, 1024)
RUNS = 15
PEER = "@tensorflow/tfjs"

_TAKEN = """(async () => {
    const bytes = Uint8Array.from(atob(given.values), (letter) => letter.charCodeAt(0));
    globalThis.MATRIX = new Float32Array(bytes.buffer);
})()"""

_PREPARED = """(async () => {
    const { size, scene } = given;
    const square = (values) => ({ rows: size, columns: size, values });
    globalThis.own?.release();
    globalThis.own = (await Gpu.open()).prepare(new PlanOf(scene));
    own.load({ A: square(matrixA), B: square(matrixB) });
    globalThis.peer?.map((tensor) => tensor.dispose());
    globalThis.peer = [matrixA, matrixB].map((values) => tf.tensor2d(values, [size, size]));
    await tf.setBackend("webgl");
    return [(await Gpu.open()).words, tf.version.tfjs, tf.env().getBool("WEBGL_PACK")];
})()"""

_OWN = "own.time(1)"

_PEER = """(() => {
    const { gl } = tf.backend().gpgpu;
    const start = performance.now();
    const product = tf.matMul(...peer);
    const { texture } = tf.backend().texData.get(product.dataId);
    const framebuffer = gl.createFramebuffer();
    gl.bindFramebuffer(gl.FRAMEBUFFER, framebuffer);
    gl.framebufferTexture2D(
        gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, texture.texture ?? texture, 0,
    );
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.FLOAT, new Float32Array(4));
    const time = performance.now() - start;
    if (gl.getError()) throw new Error("the peer's product is in no texture of floats");
    gl.deleteFramebuffer(framebuffer);
    product.dispose();
    return time;
})()"""

_PRODUCTS = """(async () => {
    const product = tf.matMul(...peer);
    const theirs = await product.data();
    product.dispose();
    const sampled = (values) => given.map((place) => values[place]);
    return [sampled(own.results().C.values), sampled(theirs)];
})()"""


class BrowserProduct(Record, frozen=True, kw_only=True):
    """A product by the page and by the peer, in seconds and in GFLOPS.

    ratio: the peer's seconds over the page's. error, peer_error: the largest error of sampled
    elements, over the largest element.
    """

    size: int
    seconds: float
    peer_seconds: float
    gflops: float | None
    peer_gflops: float | None
    ratio: float
    error: float
    peer_error: float


class BrowserBenchmark(Recorded, frozen=True, kw_only=True):
    """All sizes. busy_share: other processes' share of the processors' time, from 0 to 1."""

    browser: str
    renderer: str
    processor: str
    method: str
    block: int
    peer: str
    runs: int
    products: tuple[BrowserProduct, ...]
    busy_share: float | None = None


def fetched_peer(folder: Path) -> str:
    """TensorFlow.js as a script, which npm fetches into a folder."""
    subprocess.run(
        ["npm", "install", "--silent", "--ignore-scripts", "--prefix", str(folder), PEER],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    script = folder / "node_modules" / PEER / "dist" / "tf.min.js"
    return script.read_text("utf-8")


def drawn_scene(size: int) -> Scene:
    """The product's scene, as the page has it: sizes are constants in the shaders."""
    plan = find_product(METHOD).plan(n=size, block=BLOCK, accumulate="ping-pong")
    return scene_of(plan) | {"shaders": plain(shaders_of(plan, sized=True))}


def give(page: Modules, name: str, matrix: F32) -> None:
    """Give the page a matrix, as a value of that name."""
    values = b64encode(matrix.tobytes()).decode("ascii")
    page.run(_TAKEN.replace("MATRIX", name), {"values": values})


def product(page: Modules, size: int) -> tuple[BrowserProduct, list[Any]]:
    """A product by the page and the peer, in turn; and the page's words on itself and the peer."""
    rng = np.random.default_rng(size)
    a, b = (rng.random((size, size), np.float32) for _ in range(2))
    give(page, "matrixA", a)
    give(page, "matrixB", b)
    words: list[Any] = page.run(_PREPARED, {"size": size, "scene": drawn_scene(size)})

    def sample(code: str) -> Callable[[], float]:
        return lambda: float(page.run(code)) / 1e3

    seconds = medians_in_turn({"own": sample(_OWN), "peer": sample(_PEER)}, RUNS)
    places = rng.integers(0, size * size, 1000)
    exact = (a.astype(np.float64) @ b.astype(np.float64)).ravel()
    errors = [
        float(np.abs(np.array(values) - exact[places]).max() / exact.max())
        for values in page.run(_PRODUCTS, places.tolist())
    ]
    result = BrowserProduct(
        size=size,
        seconds=seconds["own"],
        peer_seconds=seconds["peer"],
        gflops=2e-9 * size**3 / seconds["own"],
        peer_gflops=2e-9 * size**3 / seconds["peer"],
        ratio=seconds["peer"] / seconds["own"],
        error=errors[0],
        peer_error=errors[1],
    )
    return result, words


def main(arguments: list[str]) -> None:
    """Measure, and print the results as JSON; the ratios go to standard error as they come."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("renderer", choices=tuple(RENDERERS))
    parser.add_argument("--size", type=int, nargs="+", default=SIZES)
    chosen = parser.parse_args(arguments)
    path, other_work = browser_path(), OtherWork()
    assert path is not None, "there is no Chromium on the PATH, nor does CHROMIUM name one"
    with TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        script = fetched_peer(folder)
        browsers = Browsers(playwright, path)
        page = Modules(Opener(browsers, chosen.renderer, folder), PLAYER)
        page.run(f"(0, eval)({json.dumps(script)}) ?? null")
        products = []
        for size in chosen.size:
            result, words = product(page, size)
            products.append(result)
            print(f"n = {size}: {result.ratio:.2f} times as fast", file=sys.stderr)
        version, busy_share = browsers.on(chosen.renderer).version, other_work.share()
        browsers.close()
    renderer, peer_version, _ = words
    benchmark = BrowserBenchmark(
        **provenance(),
        browser=f"Chromium {version}",
        renderer=renderer,
        processor=processor_name(),
        method=METHOD,
        block=BLOCK,
        peer=f"{PEER} {peer_version}",
        runs=RUNS,
        products=tuple(products),
        busy_share=busy_share,
    )
    print_result(benchmark, benchmark.busy_share)


if __name__ == "__main__":
    main(sys.argv[1:])
