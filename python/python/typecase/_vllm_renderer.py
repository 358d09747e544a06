"""The renderer that :func:`typecase.vllm.register_renderer` registers. Importing this imports vLLM (0.33 or later)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from vllm.multimodal.media.connector import merge_media_io_kwargs
from vllm.renderers.base import BaseRenderer
from vllm.renderers.chat_utils import parse_chat_messages, parse_chat_messages_async
from vllm.utils.async_utils import make_async

from typecase._tokens import MediaItem
from typecase.model import Model
from typecase.vllm import Adapter

#: Images of Kimi K3 keep their mode, alpha channel included.
_MEDIA_IO_KWARGS = {"kimi_k3": {"image": {"image_mode": None}}}
#: What of a renderer's arguments are fields of a request; the rest are arguments of the template.
_FIELDS = ("tools", "documents", "add_generation_prompt", "continue_final_message", "reasoning_effort")
#: Under which names vLLM has the media of which kinds.
_NAMES = {"image": ("image",), "video": ("video",), "audio": ("audio",), "vision_chunk": ("image", "video")}


class TypecaseRenderer(BaseRenderer):
    """Prompts by typecase, media by vLLM."""

    def __init__(self, config: Any, tokenizer: Any) -> None:
        super().__init__(config, tokenizer)
        self._typecase = Model.load(_directory(self.model_config))
        self._adapter = Adapter.from_model_config(self.model_config, tokenizer)
        self._prompt_async = make_async(self._prompt, executor=self._executor)

    def render_messages(self, messages: list[Any], params: Any) -> tuple[Any, Any]:
        messages = [_plain_message(message) for message in messages]
        conversation, *media = parse_chat_messages(messages, self.model_config, **self._parsing(params))
        return conversation, self._prompt(messages, params, *media)

    async def render_messages_async(self, messages: list[Any], params: Any) -> tuple[Any, Any]:
        messages = [_plain_message(message) for message in messages]
        conversation, *media = await parse_chat_messages_async(messages, self.model_config, **self._parsing(params))
        return conversation, await self._prompt_async(messages, params, *media)

    def _parsing(self, params: Any) -> dict[str, Any]:
        defaults = _MEDIA_IO_KWARGS.get(self._typecase.model_type or "")
        given = params.media_io_kwargs
        return {
            "content_format": "openai",
            "media_io_kwargs": merge_media_io_kwargs(defaults, given) if defaults else given,
            "mm_processor_kwargs": params.mm_processor_kwargs,
        }

    def _prompt(self, messages: list[Any], params: Any, mm_data: Any, mm_uuids: Any) -> Any:
        tokens = self._typecase.tokenize(request(messages, params))
        return self._adapter.tokens_prompt(
            tokens.ids,
            in_prompt_order(tokens.media, mm_data),
            multi_modal_uuids=in_prompt_order(tokens.media, mm_uuids),
        )


def request(messages: Iterable[Any], params: Any) -> dict[str, Any]:
    """The request that vLLM's parameters of a render describe."""
    arguments = dict(params.get_apply_chat_template_kwargs())
    if arguments.pop("chat_template", None) is not None:
        raise ValueError("this renderer takes the prompt format of the model; it cannot take another chat template")
    for name in ("tokenize", "return_dict"):
        arguments.pop(name, None)
    made = {"messages": _jsonable(list(messages))}
    made.update((name, _jsonable(arguments.pop(name))) for name in _FIELDS if name in arguments)
    if arguments:
        made["chat_template_kwargs"] = _jsonable(arguments)
    if params.tool_choice not in (None, "auto"):
        made["tool_choice"] = _jsonable(params.tool_choice)
    if params.response_format is not None:
        made["response_format"] = _jsonable(params.response_format)
    return made


def in_prompt_order(media: list[MediaItem], data: Any) -> Any:
    """vLLM's lists of media, which are in the order of the request, in that of the prompt: a format may put the results
    of tools, and the images in them, in the order of their calls."""
    if not data:
        return data
    ordered = dict(data)
    for name, kinds in _NAMES.items():
        ordinals = [item.ordinal for item in media if item.modality in kinds]
        items = data.get(name)
        if isinstance(items, (list, tuple)) and len(items) == len(ordinals):
            place = {ordinal: index for index, ordinal in enumerate(sorted(ordinals))}
            ordered[name] = [items[place[ordinal]] for ordinal in ordinals]
    return ordered


def _directory(model_config: Any) -> str:
    """Where the tokenizer's and the configuration's files are."""
    named = str(model_config.model)
    if os.path.isdir(named):
        return named
    from vllm.transformers_utils.repo_utils import get_non_weight_snapshot_path

    return get_non_weight_snapshot_path(named, revision=model_config.revision)


def _plain_message(message: Any) -> Any:
    # Content and calls may be iterators that can be read once, and are read twice here.
    message = _dumped(message)
    if not isinstance(message, Mapping):
        return message
    return {key: _listed(value) if key in ("content", "tool_calls") else value for key, value in message.items()}


def _listed(value: Any) -> Any:
    if value is None or isinstance(value, (str, Mapping)) or not isinstance(value, Iterable):
        return value
    return [_dumped(item) for item in value]


def _dumped(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    return dump(mode="json", exclude_unset=True) if callable(dump) else value


def _jsonable(value: Any) -> Any:
    value = _dumped(value)
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, Mapping):
        return {str(key): _jsonable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_jsonable(item) for item in value]
    # Pictures and tensors are handed over in a field of a part; a prompt only asks whether they are there.
    return f"<{type(value).__name__}>"
