"""Chat requests to the exact prompt a model was trained on, as text and token ids, for every serving engine."""

from typecase import media, sglang, vllm
from typecase._errors import ModelError, RequestError, TypecaseError

for _class in (ModelError, RequestError, TypecaseError):
    _class.__module__ = "typecase"
del _class

__all__ = [
    "ModelError",
    "RequestError",
    "TypecaseError",
    "media",
    "sglang",
    "vllm",
]
