"""The renderer that :func:`typecase.vllm.register_renderer` registers. Importing this imports vLLM."""

from __future__ import annotations

import functools
from typing import Any

from vllm.renderers.chat_utils import parse_chat_messages, parse_chat_messages_async
from vllm.renderers.hf import HfRenderer

from typecase.model import Model
from typecase.vllm import Adapter


class TypecaseRenderer(HfRenderer):
    """Prompts by typecase, media by vLLM."""

    def render_messages(self, messages: list[Any], params: Any) -> tuple[Any, Any]:
        parsed = parse_chat_messages(messages, self.model_config, **self._parsing(params))
        return self._prompt(messages, params, *parsed)

    async def render_messages_async(self, messages: list[Any], params: Any) -> tuple[Any, Any]:
        parsed = await parse_chat_messages_async(messages, self.model_config, **self._parsing(params))
        return self._prompt(messages, params, *parsed)

    @functools.cached_property
    def _typecase(self) -> tuple[Model, Adapter]:
        return (
            Model.load(self.model_config.model),
            Adapter.from_model_config(self.model_config, self.get_tokenizer()),
        )

    def _parsing(self, params: Any) -> dict[str, Any]:
        return {
            "content_format": "openai",
            "media_io_kwargs": params.media_io_kwargs,
            "mm_processor_kwargs": params.mm_processor_kwargs,
        }

    def _prompt(self, messages: list[Any], params: Any, conversation: Any, mm_data: Any, mm_uuids: Any) -> Any:
        model, adapter = self._typecase
        request = {"messages": [_plain(message) for message in messages], **params.get_apply_chat_template_kwargs()}
        request.pop("chat_template", None)
        request.pop("tokenize", None)
        return conversation, adapter.tokens_prompt(model.tokenize(request).ids, mm_data, multi_modal_uuids=mm_uuids)


def _plain(message: Any) -> Any:
    dump = getattr(message, "model_dump", None)
    return dump(mode="json", exclude_unset=True) if callable(dump) else message
