"""The answer of a cargo, with its text at hand."""

from collections.abc import Sequence
from dataclasses import dataclass

from longshore.errors import outcome_error
from longshore.types import ChatCompletion, Completion, EmbeddingCompletion, TextCompletionBlock, Tracking, Usage


def completion_text(response: Completion | None) -> str:
    """The text blocks, joined. Empty for an embedding."""
    if not isinstance(response, ChatCompletion):
        return ""
    return "".join(block.text for block in response.content if isinstance(block, TextCompletionBlock))


@dataclass(frozen=True)
class Answer:
    """A completed cargo with an answer."""

    tracking: Tracking

    @property
    def cargo_id(self) -> str:
        return self.tracking.cargo_id

    @property
    def text(self) -> str:
        return completion_text(self.tracking.response)

    @property
    def embeddings(self) -> Sequence[Sequence[float]]:
        response = self.tracking.response
        return response.embeddings if isinstance(response, EmbeddingCompletion) else []

    @property
    def response(self) -> Completion | None:
        return self.tracking.response

    @property
    def usage(self) -> Usage | None:
        return self.tracking.usage

    @property
    def charged(self) -> float | None:
        """What it cost, in the currency of `tracking.cost`."""
        cost = self.tracking.cost
        return None if cost.charged is None else cost.charged / 10**cost.scale


def to_answer(tracking: Tracking) -> Answer:
    """Raises the error of a cargo that failed."""
    if not tracking.success:
        raise outcome_error(tracking.cargo_id, tracking.error, tracking.error_code)
    return Answer(tracking)
