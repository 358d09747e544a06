"""Sizes of images, and how many tokens media have.

>>> from typecase.media import image_header
>>> image_header(b"GIF89a\\x40\\x01\\xf0\\x00\\x00\\x00\\x00")
ImageHeader(format='gif', width=320, height=240, orientation=1)
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from typecase import _typecase
from typecase._errors import ModelError

__all__ = ["Image", "ImageHeader", "MediaCounter", "Video", "image_header"]


class Image(NamedTuple):
    """An image, by its size as the engine has it."""

    width: int
    height: int


class Video(NamedTuple):
    """A video, by the size of its frames, the numbers of those that were sampled, and frames per second."""

    width: int
    height: int
    frames: Sequence[int]
    fps: float | None = None


class ImageHeader(NamedTuple):
    """What the head of an image file says: its format, stored size, and EXIF orientation (1 to 8)."""

    format: str
    width: int
    height: int
    orientation: int

    @property
    def upright(self) -> tuple[int, int]:
        """Width and height as shown, after the orientation is applied."""
        return (self.height, self.width) if self.orientation >= 5 else (self.width, self.height)


def image_header(data: bytes | str) -> ImageHeader:
    """Reads the size of a PNG, JPEG, WebP, GIF or BMP file, given as bytes or as a ``data:`` URL.

    No pixel is decoded and nothing is fetched. Raises :class:`typecase.RequestError` for anything else.
    """
    return ImageHeader(*_typecase.image_header(data))


class MediaCounter:
    """How a checkpoint counts media, from the contents of its configuration files.

    >>> counter = MediaCounter({"model_type": "kimi_k3"})
    >>> counter.token_count(1920, 1080)
    2691
    >>> counter.markers
    {'image': '<|media_pad|>'}

    Raises ``LookupError`` for a model without media or of a family that is not known.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        preprocessor_config: Mapping[str, Any] | None = None,
        video_preprocessor_config: Mapping[str, Any] | None = None,
    ) -> None:
        files = (preprocessor_config, video_preprocessor_config)
        texts = [None if file is None else json.dumps(dict(file)) for file in files]
        family = _typecase.MediaFamily.load(json.dumps(dict(config)), *texts)
        if family is None:
            raise LookupError(f"no media are known for model_type {config.get('model_type')!r}")
        self._family = family

    @property
    def name(self) -> str:
        """The name of the family."""
        return self._family.name

    @property
    def markers(self) -> dict[str, str]:
        """What the prompt carries for one item of each kind of media."""
        return {kind: marker for kind, marker, *_ in self._family.markers}

    @property
    def anchors(self) -> dict[str, str]:
        """The registered token in each marker that adapters look for; kinds whose marker is text are not in it."""
        return {kind: anchor for kind, _, anchor, _ in self._family.markers if anchor is not None}

    def anchor_ids(self, config: Any, tokenizer: Any = None) -> dict[str, int]:
        """The ids of the :attr:`anchors`, from the configuration that names them, else from the vocabulary.

        ``config`` is a mapping or an object with its keys as attributes; ``tokenizer`` has ``convert_tokens_to_ids``.

        >>> config = {"model_type": "kimi_k3", "media_placeholder_token_id": 163605}
        >>> MediaCounter(config).anchor_ids(config)
        {'image': 163605}

        Raises :class:`typecase.ModelError` if neither names an id.
        """
        ids = {}
        for kind, _, anchor, key in self._family.markers:
            if anchor is None:
                continue
            found = None if key is None else setting(config, key)
            if found is None and tokenizer is not None:
                found = tokenizer.convert_tokens_to_ids(anchor)
            if isinstance(found, bool) or not isinstance(found, int):
                raise ModelError(f"{key or anchor} is {found!r}; expected the id of {anchor}", "model_setting")
            ids[kind] = found
        return ids

    def token_count(
        self, width: int, height: int, *, frames: Sequence[int] | None = None, fps: float | None = None
    ) -> int:
        """Number of features of an image, or of a video of which the ``frames`` of these numbers were sampled."""
        return self._family.token_count(width, height, frames=frames, fps=fps)

    def expansion(
        self, width: int, height: int, *, frames: Sequence[int] | None = None, fps: float | None = None
    ) -> str:
        """What stands for it in an engine's prompt.

        >>> MediaCounter({"model_type": "kimi_k3"}).expansion(30, 20)
        '<|media_begin|>image 30x20<|media_content|><|media_pad|><|media_pad|><|media_end|>'
        """
        return self._family.expansion(width, height, frames=frames, fps=fps)


def setting(config: Any, key: str) -> Any:
    """What a configuration, a mapping or an object, says under a key; ``None`` where it says nothing."""
    if config is None:
        return None
    return config.get(key) if isinstance(config, Mapping) else getattr(config, key, None)
