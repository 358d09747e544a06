"""What the adapters of engines share that take canonical ids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from typecase._typecase import Canonical
from typecase.media import MediaCounter, setting

Ids = TypeVar("Ids")


class CanonicalAdapter:
    """Counts placeholders against media; ``anchors`` has the id of the placeholder of each kind of media (``image``,
    ``video``, ``audio``)."""

    def __init__(self, anchors: Mapping[str, int]) -> None:
        self._canonical = Canonical(dict(anchors))

    @classmethod
    def from_config(cls, config: Any, tokenizer: Any = None) -> Any:
        """An adapter for a checkpoint's configuration: a mapping, or an object with its keys as attributes.

        ``tokenizer`` is asked for ids that the configuration does not name. The prompts of models that take no media, or
        are of no family that is known, pass uncounted.

        >>> config = {"model_type": "qwen2_5_vl", "image_token_id": 151655, "video_token_id": 151656}
        >>> CanonicalAdapter.from_config(config)._counted([1, 151655], image=["a.png"])
        [1, 151655]
        """
        try:
            counter = MediaCounter({"model_type": setting(config, "model_type")})
        except LookupError:
            return cls({})
        return cls(counter.anchor_ids(config, tokenizer))

    def _counted(self, ids: Ids, *, image: Any = None, video: Any = None, audio: Any = None, chunks: Any = None) -> Ids:
        return self._canonical.prompt_ids(
            ids, images=count(image), videos=count(video), audios=count(audio), vision_chunks=count(chunks)
        )


def count(items: Any) -> int:
    """Media items: one is given as itself or as a list."""
    if items is None:
        return 0
    return len(items) if isinstance(items, (list, tuple)) else 1


def as_list(ids: Any) -> list[int]:
    """Ids as the list that engines take."""
    if isinstance(ids, list):
        return ids
    return ids.tolist() if hasattr(ids, "tolist") else list(ids)
