"""What loads would cost, and the limit of what a map may cost."""

from typing import Any

from longshore._error_base import LongshoreError
from longshore.types._base import Response

DEFAULT_SCALE = 9


class Estimate(Response):
    """The answer of `POST /cargo/estimate`. Amounts are whole numbers of 10^-`hold["scale"]` of the currency."""

    items: int
    faults: list[dict[str, Any]] = []
    hold: dict[str, Any] | None = None
    cost: dict[str, Any] | None = None
    tokens: dict[str, Any] | None = None
    turnaround: dict[str, Any] | None = None
    based_on: dict[str, Any] | None = None
    refused_by: str | None = None

    @property
    def likely_cost(self) -> float:
        """In the currency: the likely cost, or the maximum if no likely one is known."""
        cost, hold = self.cost or {}, self.hold or {}
        likely = cost.get("likely")
        amount: int = cost.get("most", 0) if likely is None else likely
        scale: int = hold.get("scale", DEFAULT_SCALE)
        return float(amount / 10**scale)


class CostLimit:
    """Adds up estimates, and refuses the one that exceeds the limit."""

    def __init__(self, limit: float | None) -> None:
        self._limit = limit
        self._sum = 0.0

    @property
    def is_set(self) -> bool:
        return self._limit is not None

    def add(self, estimate: Estimate) -> None:
        self._sum += estimate.likely_cost
        if self._limit is not None and self._sum > self._limit:
            raise LongshoreError(
                f"the rows so far would cost {self._sum:.4f}, more than max_cost {self._limit}: "
                "the last rows were not loaded; raise max_cost and call map with the same name"
            )
