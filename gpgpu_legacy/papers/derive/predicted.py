"""Predictions of products on chips."""

from __future__ import annotations

from dataclasses import replace

from gpgpu_legacy.chips.profile import Profile
from gpgpu_legacy.papers.derive.inputs import Inputs, Product
from gpgpu_legacy.papers.derive.registry import Value, derivation, of_product
from gpgpu_legacy.papers.derive.transfers import transfer_time
from gpgpu_legacy.predict.model import predict
from gpgpu_legacy.predict.prediction import Prediction


def _prediction(product: Product, chip: Profile, *, cached: bool) -> Prediction:
    moved = product.counts.bytes_requested + product.counts.copy_bytes
    return predict(product.plan, chip, memory_bytes=None if cached else moved)


def _compute_s(product: Product, chip: Profile) -> float:
    seconds = _prediction(product, chip, cached=True).compute_seconds
    assert seconds is not None
    return seconds


@of_product
def predicted_bottleneck(
    inputs: Inputs, product: Product, chip: str, cached: bool = True,
    texture_format: str | None = None,
) -> Value:  # fmt: skip
    """What limits a product on a chip, as `predict` has it: memory, lookups, arithmetic, …

    cached: False for a chip without a texture cache, where every lookup goes to memory.
    """
    product = replace(product, texture_format=texture_format)
    binds = _prediction(product, inputs.profile(chip), cached=cached).binds
    assert binds is not None
    return binds


@of_product
def predicted_gflops(inputs: Inputs, product: Product, chip: str) -> Value:
    """The GFLOPS that a product reaches on a chip at most, as `predict` has it."""
    return 2e-9 * product.size**3 / _compute_s(product, inputs.profile(chip))


@derivation
def transfer_share_predicted(
    inputs: Inputs, *, method: str, size: int, block: int, rate: str, chip: str
) -> Value:
    """The share of transfers in the total, in percent, with the least time of a chip.

    The time is that of `predict`, so the share is the largest possible. rate: of transfers, as
    printed.
    """
    product = inputs.product(method, size, block)
    transfer_s = 1e-3 * transfer_time(inputs, method, size, block, rate)
    return 100.0 * transfer_s / (transfer_s + _compute_s(product, inputs.profile(chip)))
