import numpy as np

from gpgpu_legacy import Pipeline


def scan(n: int = 64) -> Pipeline:
    """Prefix sums, in log2 n passes."""
    p = Pipeline("scan")
    x, y = p.input("x", 1, n, shape=(n,)), p.texture("y", n, 1)
    with p.repeat((n - 1).bit_length()) as i:
        p.draw("scan.fp", {0: x}, into=y, local={0: (2**i, 0, 0, 0)})
        p.swap(x, y)
    p.output("sums", x, shape=(n,))
    p.reference = np.cumsum
    return p
