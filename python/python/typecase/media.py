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

__all__ = ["ImageHeader", "MediaCounter", "image_header"]


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
        texts = [None if file is None else json.dumps(dict(file)) for file in (preprocessor_config, video_preprocessor_config)]
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
        return {kind: marker for kind, marker, _ in self._family.markers}

    @property
    def anchors(self) -> dict[str, str]:
        """The registered token in each marker that adapters look for; kinds whose marker is text are not in it."""
        return {kind: anchor for kind, _, anchor in self._family.markers if anchor is not None}

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
