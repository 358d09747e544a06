"""Hooks for SGLang workers.

SGLang takes canonical ids as they are: its processors expand each placeholder. The adapter counts first, where the
client can still be told which request is wrong::

    adapter = typecase.sglang.Adapter.from_config(hf_config)
    engine.async_generate(**adapter.generate_input(request["token_ids"], image_data=images))

SGLang itself is not imported.
"""

from __future__ import annotations

from typing import Any, TypeVar

from typecase._canonical import CanonicalAdapter, as_list

__all__ = ["Adapter"]

Ids = TypeVar("Ids")


class Adapter(CanonicalAdapter):
    """Counts placeholders against media.

    ``anchors`` has the id of the placeholder of each kind of media (``image``, ``video``, ``audio``).

    >>> adapter = Adapter({"image": 163605})
    >>> ids = [1, 163605, 2]
    >>> adapter.prompt_ids(ids, image_data="https://example.org/a.png") is ids
    True
    >>> adapter.prompt_ids(ids, image_data=["a.png", "b.png"])
    Traceback (most recent call last):
    ...
    typecase.RequestError: the prompt has 1 image placeholder(s) for 2 image item(s)
    """

    def prompt_ids(
        self, ids: Ids, *, image_data: Any = None, video_data: Any = None, audio_data: Any = None
    ) -> Ids:
        """The very same ``ids``, once they are found to have one placeholder per item.

        Raises :class:`typecase.RequestError`, naming both counts, if they have not.
        """
        return self._counted(ids, image=image_data, video=video_data, audio=audio_data)

    def generate_input(
        self,
        ids: Any,
        *,
        image_data: Any = None,
        video_data: Any = None,
        audio_data: Any = None,
        **fields: Any,
    ) -> dict[str, Any]:
        """The arguments of ``Engine.generate`` for ``ids`` and their media; ``fields`` are further ones."""
        media = {"image_data": image_data, "video_data": video_data, "audio_data": audio_data}
        checked = as_list(self.prompt_ids(ids, **media))
        given = {key: value for key, value in media.items() if value is not None}
        return {"input_ids": checked, **given, **fields}
