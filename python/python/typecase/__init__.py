"""Chat requests to the exact prompt a model was trained on, as text and token ids, for every serving engine."""

from typecase import media, sglang, tensorrt_llm, vllm
from typecase._errors import ModelError, RequestError, TemplateError, TypecaseError
from typecase._tokens import MediaItem, Tokens
from typecase._typecase import Template
from typecase.media import Image, Video
from typecase.model import Model, Prompt
from typecase.transformers import apply_chat_template, patch, unpatch

for _class in (ModelError, RequestError, TemplateError, TypecaseError):
    _class.__module__ = "typecase"
del _class

__all__ = [
    "Image",
    "MediaItem",
    "Model",
    "ModelError",
    "Prompt",
    "RequestError",
    "Template",
    "TemplateError",
    "Tokens",
    "TypecaseError",
    "Video",
    "apply_chat_template",
    "media",
    "patch",
    "sglang",
    "tensorrt_llm",
    "unpatch",
    "vllm",
]
