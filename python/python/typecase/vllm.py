"""Hooks for vLLM workers.

A frontend sends ids with one placeholder per media item. On a worker, before the ids reach the engine::

    adapter = typecase.vllm.Adapter.from_model_config(engine.model_config, engine.get_tokenizer())
    prompt = adapter.tokens_prompt(request["token_ids"], multi_modal_data)
    engine.generate(prompt, sampling_params, request_id)

vLLM is imported only by :func:`register_renderer` and the class it registers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from typecase._canonical import as_list, count
from typecase._errors import ModelError
from typecase._typecase import VllmKimiK3
from typecase.media import setting

__all__ = ["Adapter", "register_renderer"]

Ids = TypeVar("Ids")

RENDERER_MODE = "typecase"


class _Encodes(Protocol):
    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]: ...


class Adapter:
    """Makes of canonical ids what vLLM takes, from a checkpoint's metadata alone.

    For Kimi K3 each placeholder becomes the ids of the checkpoint's ``image_placeholder``. Other models pass.

    >>> class Tokenizer:
    ...     def encode(self, text, *, add_special_tokens):
    ...         return [27, 91, 74]
    >>> config = {"model_type": "kimi_k3", "media_placeholder_token_id": 163605, "image_placeholder": "<|img|>"}
    >>> adapter = Adapter(lambda: config, Tokenizer())
    >>> adapter.prompt_ids([1, 163605, 2], {"image": object()})
    [1, 27, 91, 74, 2]
    >>> ids = [1, 163605, 2]
    >>> adapter.prompt_ids(ids, None) is ids
    True
    """

    def __init__(self, config: Callable[[], Any], tokenizer: _Encodes | Callable[[], _Encodes | None] | None) -> None:
        """``config`` gives the checkpoint's configuration: a mapping, an object with its keys as attributes, or
        ``None`` while there is none yet. It is asked again until all that is needed is there."""
        self._config = config
        self._tokenizer = tokenizer
        self._resolved: VllmKimiK3 | None = None
        self._passes = False

    @classmethod
    def from_model_config(cls, model_config: Any, tokenizer: _Encodes | None) -> Adapter:
        """An adapter for vLLM's ``ModelConfig``."""
        return cls(lambda: getattr(model_config, "hf_config", None), tokenizer)

    def prompt_ids(self, ids: Ids, multi_modal_data: Mapping[str, Any] | None) -> Ids:
        """The ids that vLLM takes for ``ids``, which came with ``multi_modal_data``.

        ``ids`` is a list or a buffer of 32-bit or 64-bit integers; the result is a list for a list, else a buffer, and
        the very object given where there is nothing to do. Raises :class:`typecase.RequestError` if there are not as
        many placeholders as images, :class:`typecase.ModelError` if the checkpoint's metadata is wrong.
        """
        if not multi_modal_data:
            return ids
        images, chunks = count(multi_modal_data.get("image")), count(multi_modal_data.get("vision_chunk"))
        if images == chunks == 0:
            return ids
        adapter = self._resolve()
        return ids if adapter is None else adapter.prompt_ids(ids, images=images, vision_chunks=chunks)

    def tokens_prompt(
        self, ids: Any, multi_modal_data: Mapping[str, Any] | None = None, **fields: Any
    ) -> dict[str, Any]:
        """vLLM's ``TokensPrompt`` for ``ids``. ``fields`` are further keys of it (``multi_modal_uuids``,
        ``mm_processor_kwargs``, ``cache_salt``); those that are ``None`` are left out."""
        prompt: dict[str, Any] = {"prompt_token_ids": as_list(self.prompt_ids(ids, multi_modal_data))}
        if multi_modal_data:
            prompt["multi_modal_data"] = multi_modal_data
        prompt.update((key, value) for key, value in fields.items() if value is not None)
        return prompt

    def _resolve(self) -> VllmKimiK3 | None:
        if self._resolved is not None or self._passes:
            return self._resolved
        config = self._config()
        model_type = setting(config, "model_type")
        if model_type is None:
            return None
        if not isinstance(model_type, str):
            raise _wrong("model_type", model_type, "a string")
        if model_type != "kimi_k3":
            self._passes = True
            return None
        anchor = setting(config, "media_placeholder_token_id")
        placeholder = setting(config, "image_placeholder")
        tokenizer = self._tokenizer
        if tokenizer is not None and not hasattr(tokenizer, "encode"):
            tokenizer = tokenizer()
        if anchor is None or placeholder is None or tokenizer is None:
            return None
        if isinstance(anchor, bool) or not isinstance(anchor, int) or not 0 <= anchor < 2**32:
            raise _wrong("media_placeholder_token_id", anchor, "a token id")
        if not isinstance(placeholder, str) or not placeholder:
            raise _wrong("image_placeholder", placeholder, "text of at least one token")
        ids = list(tokenizer.encode(placeholder, add_special_tokens=False))
        if not ids or any(isinstance(id, bool) or not isinstance(id, int) for id in ids):
            raise ModelError(f"image_placeholder {placeholder!r} becomes the ids {ids!r}", "model_setting")
        self._resolved = VllmKimiK3(anchor, ids)
        return self._resolved


def _wrong(key: str, found: Any, expected: str) -> ModelError:
    return ModelError(f"{key} is {found!r}; expected {expected}", "model_setting")


def register_renderer(mode: str = RENDERER_MODE) -> None:
    """Registers a renderer with vLLM that renders with typecase, under ``--tokenizer-mode MODE``.

    vLLM calls it by itself where the package is installed (entry point group ``vllm.general_plugins``), so
    ``vllm serve MODEL --tokenizer-mode typecase`` is all there is to do. Media are loaded by vLLM; the prompt, and which
    placeholder is whose, are typecase's.
    """
    from vllm.renderers.registry import RENDERER_REGISTRY
    from vllm.tokenizers.registry import TokenizerRegistry

    RENDERER_REGISTRY.register(mode, "typecase._vllm_renderer", "TypecaseRenderer")
    TokenizerRegistry.register(mode, "vllm.tokenizers.hf", "CachedHfTokenizer")
