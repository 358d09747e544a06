"""Token ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, overload


class MediaItem(NamedTuple):
    """An image, video or sound, in the order of the prompt."""

    #: ``"image"``, ``"video"`` or ``"audio"``.
    modality: str
    #: Its place among all media of the request. Formats may put them in another order.
    ordinal: int
    #: The message it came with.
    message: int
    #: The content part of that message.
    part: int
    #: Where its placeholder is in the text, in code points.
    placeholder: tuple[int, int]
    #: Where its placeholder is among the ids; ``None`` in a prompt that is not encoded yet.
    tokens: tuple[int, int] | None = None


class Tokens(Sequence[int]):
    """Token ids, the bytes of the prompt that each stands for when these were asked for, and where the media are.

    A sequence of ``int`` whose memory is shared, not copied: with numpy through ``numpy.asarray(tokens)``, and with
    anything else through ``tokens.ids``, a ``memoryview`` of 32-bit integers. From Python 3.12 on the object itself has
    the buffer protocol.

    >>> tokens = Tokens(memoryview(bytes(8)).cast("I"))
    >>> len(tokens), tokens[0], tokens.tolist()
    (2, 0, [0, 0])
    """

    __slots__ = ("ids", "media", "ranges")

    ids: memoryview
    ranges: list[tuple[int, int]] | None
    media: list[MediaItem]

    def __init__(
        self, ids: memoryview, ranges: list[tuple[int, int]] | None = None, media: Iterable[tuple[Any, ...]] = ()
    ) -> None:
        self.ids = ids
        self.ranges = ranges
        self.media = [MediaItem(*item) for item in media]

    def tolist(self) -> list[int]:
        """The ids as a list."""
        return self.ids.tolist()

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[int]:
        return iter(self.ids.tolist())

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> memoryview: ...
    def __getitem__(self, index: int | slice) -> int | memoryview:
        return self.ids[index]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Tokens):
            return self.ids == other.ids
        if isinstance(other, (list, tuple)):
            return self.ids.tolist() == list(other)
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        import numpy

        ids = numpy.frombuffer(self.ids, dtype=numpy.uint32)
        if dtype is None or numpy.dtype(dtype) == ids.dtype:
            return ids.copy() if copy else ids
        if copy is False:
            raise ValueError("ids are 32-bit; another type needs a copy")
        return ids.astype(dtype)

    def __buffer__(self, flags: int) -> memoryview:
        return self.ids

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self.ids.tobytes(), self.ranges, self.media)

    def __repr__(self) -> str:
        shown = ", ".join(map(str, self.ids[:8]))
        return f"Tokens([{shown}{', ...' if len(self) > 8 else ''}], length {len(self)})"


def _unpickled(ids: bytes, ranges: list[tuple[int, int]] | None, media: list[MediaItem]) -> Tokens:
    return Tokens(memoryview(ids).cast("I"), ranges, media)
