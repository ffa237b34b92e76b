"""Predict a method's product on a chip, which may be this machine, and behind a simulated cache."""

from __future__ import annotations

from dataclasses import dataclass

from gpgpu_legacy.algorithms.matmul.method import Method
from gpgpu_legacy.algorithms.matmul.options import Options, Shape
from gpgpu_legacy.predict.plans import CacheModel, predict_plan
from gpgpu_legacy.predict.prediction import Prediction


@dataclass(frozen=True, slots=True)
class ProductPrediction:
    """A prediction for a product. exceeds: the limits of the chip that it exceeds, in words."""

    prediction: Prediction
    shape: Shape
    exceeds: tuple[str, ...]


def predict_product(
    method: Method, shape: Shape, options: Options, chip: str, cache: CacheModel | None = None
) -> ProductPrediction:
    """Predict a product on the chip of that name, or on `this` machine.

    Raises InputError for what the method refuses, and what `predict_plan` raises.
    """
    predicted = predict_plan(method.plan(shape, options), chip, cache)
    return ProductPrediction(predicted.prediction, shape, predicted.exceeds)
