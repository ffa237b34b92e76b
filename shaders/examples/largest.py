from gpgpu_legacy import Pipeline, Texels


def largest(n: int = 64) -> Pipeline:
    """The largest of n × n numbers, n a power of two, in log2 n passes."""
    p = Pipeline("largest")
    x, y = p.input("x", n, n), p.texture("y", n, n)
    with p.repeat(n.bit_length() - 1) as i:
        side = n >> (i + 1)
        p.draw(
            "largest.fp", {0: x}, into=y,
            rect=(0, 0, side, side), texcoords={0: Texels(width=2 * side, height=2 * side)},
        )  # fmt: skip
        p.swap(x, y)
    p.output("largest", x, rect=(0, 0, 1, 1))
    p.reference = lambda x: [[x.max()]]
    return p
