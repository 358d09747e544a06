"""Hooks for TensorRT-LLM workers.

TensorRT-LLM takes canonical ids as they are, as ``prompt_token_ids`` beside ``multi_modal_data``. Input processors that
declare ``supports_token_id_mm_expansion`` put as many ids in place of each placeholder as its item has features;
others decode the ids and start from text. So there is nothing to replace here; the adapter counts, where the client
can still be told which request is wrong::

    adapter = typecase.tensorrt_llm.Adapter.from_config(hf_config)
    llm.generate_async(adapter.tokens_prompt(request["token_ids"], {"image": images}), sampling_params)

TensorRT-LLM itself is not imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from typecase._canonical import CanonicalAdapter, as_list

__all__ = ["Adapter"]

Ids = TypeVar("Ids")


class Adapter(CanonicalAdapter):
    """Counts placeholders against media.

    >>> adapter = Adapter({"image": 151655})
    >>> adapter.tokens_prompt([1, 151655, 2], {"image": ["a.png"]})
    {'prompt_token_ids': [1, 151655, 2], 'multi_modal_data': {'image': ['a.png']}}
    """

    def prompt_ids(self, ids: Ids, multi_modal_data: Mapping[str, Any] | None) -> Ids:
        """The very same ``ids``, once they are found to have one placeholder per item.

        Raises :class:`typecase.RequestError`, naming both counts, if they have not.
        """
        data = multi_modal_data or {}
        return self._counted(ids, image=data.get("image"), video=data.get("video"), audio=data.get("audio"))

    def tokens_prompt(
        self, ids: Any, multi_modal_data: Mapping[str, Any] | None = None, **fields: Any
    ) -> dict[str, Any]:
        """The inputs of ``LLM.generate_async`` for ``ids``; ``fields`` are further ones (``mm_processor_kwargs``)."""
        prompt: dict[str, Any] = {"prompt_token_ids": as_list(self.prompt_ids(ids, multi_modal_data))}
        if multi_modal_data:
            prompt["multi_modal_data"] = multi_modal_data
        return {**prompt, **fields}
