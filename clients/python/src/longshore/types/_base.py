"""What all responses have in common."""

from pydantic import BaseModel, ConfigDict


class Response(BaseModel):
    """A response. Fields that this version does not know are kept as attributes."""

    model_config = ConfigDict(extra="allow", protected_namespaces=())
