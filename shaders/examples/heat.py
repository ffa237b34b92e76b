import numpy as np

from gpgpu_legacy import Pipeline


def heat(n: int = 64, steps: int = 100, k: float = 0.2) -> Pipeline:
    """Heat flows over a square plate."""
    p = Pipeline("heat")
    u, new = p.input("u", n, n), p.texture("new", n, n)
    with p.repeat(steps):
        p.draw("heat.fp", {0: u}, into=new, local={0: k})
        p.swap(u, new)
    p.output("u", u)
    p.reference = lambda u: flowed(u, steps, k)
    return p


def flowed(u: np.ndarray, steps: int, k: float) -> np.ndarray:
    for _ in range(steps):
        edge = np.pad(u, 1, mode="edge")
        west, east, south, north = edge[1:-1, :-2], edge[1:-1, 2:], edge[:-2, 1:-1], edge[2:, 1:-1]
        u = u + k * (west + east + south + north - 4 * u)
    return u
