# Generated from openapi.json by `python -m generate`. Do not edit.
"""Models, and the identity of the key."""

from datetime import datetime

from longshore.types._base import Response
from longshore.types.cargo import CargoKind


class ModelLimits(Response):
    """Null means no limit that Longshore knows."""

    context: int | None
    max_output: int | None


class RateStep(Response):
    """The prices of a request with more input tokens than `above`."""

    above: int
    input: int
    cached_input: int
    cache_write: int
    cache_write_1h: int
    output: int


class Rates(Response):
    """The price of each kind of token."""

    input: int
    cached_input: int
    cache_write: int
    cache_write_1h: int
    output: int
    steps: list[RateStep]


class ModelPrice(Response):
    """Prices in whole numbers of 10^-`scale` of the currency, for `per_tokens` tokens. You pay the batch price, by
    whatever way the cargo goes."""

    batch: Rates
    realtime: Rates | None
    per_tokens: int
    currency: str
    scale: int


class NumberRange(Response):
    """Both ends are included."""

    min: int
    max: int


class ThinkingFeatures(Response):
    """How a model can think."""

    types: list[str]
    budget_tokens: NumberRange | None
    summaries: bool
    efforts: list[str]
    default_effort: str | None


class ModelFeatures(Response):
    """What a chat model can do, by whatever way the cargo goes."""

    tools: str
    forced_tools: bool
    strict_tools: bool
    tool_result_files: bool
    max_tools: int
    structured_output: str
    thinking: ThinkingFeatures
    caching: str
    sampling: str
    top_k: bool
    max_stop_sequences: int
    system_messages: bool
    prefill: bool
    seed: bool
    min_output: int


class EmbeddingFeatures(Response):
    """What an embedding model can do."""

    max_inputs: int | None
    dimensions: NumberRange | None
    input_type: bool


class Model(Response):
    """A model. Every field is always present."""

    id: str
    kind: CargoKind
    capabilities: list[str]
    via: list[str]
    limits: ModelLimits
    price: ModelPrice | None
    features: ModelFeatures | None
    embedding: EmbeddingFeatures | None
    retires_at: str | None


class ModelList(Response):
    """The models, sorted by id."""

    models: list[Model]


class SpendingCap(Response):
    """The monthly spending cap of the key, in whole numbers of 10^-`scale` of the currency."""

    monthly: int
    spent: int
    held: int
    resets_at: datetime
    currency: str
    scale: int


class KeyIdentity(Response):
    """The API key, without its secret."""

    id: str
    name: str
    prefix: str
    created_at: datetime
    expires_at: datetime | None
    rights: list[str]
    models: list[str] | None
    addresses: list[str] | None
    spending_cap: SpendingCap | None


class ProjectIdentity(Response):
    """The project of the key."""

    id: str
    slug: str


class OrganizationIdentity(Response):
    """The organization of the project."""

    id: str
    name: str
    plan: str


class CallerLimits(Response):
    """The token bucket of the organization's loads."""

    burst: int
    sustained_requests_per_minute: int


class MonthlyTokens(Response):
    """The organization's tokens of this calendar month (UTC)."""

    monthly: int | None
    used: int
    reserved: int
    resets_at: datetime


class Balance(Response):
    """The organization's credit, in whole numbers of 10^-`scale` of the currency."""

    available: int
    held: int
    currency: str
    scale: int


class WhoAmI(Response):
    """The identity of the request. Every field is always present."""

    key: KeyIdentity
    project: ProjectIdentity
    organization: OrganizationIdentity
    limits: CallerLimits
    tokens: MonthlyTokens
    balance: Balance
