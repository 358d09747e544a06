"""Token ids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload


class Tokens(Sequence[int]):
    """Token ids, and the bytes of the prompt that each stands for when these were asked for.

    A sequence of ``int`` whose memory is shared, not copied: with numpy through ``numpy.asarray(tokens)``, and with
    anything else through ``tokens.ids``, a ``memoryview`` of 32-bit integers. From Python 3.12 on the object itself has
    the buffer protocol.

    >>> tokens = Tokens(memoryview(bytes(8)).cast("I"))
    >>> len(tokens), tokens[0], tokens.tolist()
    (2, 0, [0, 0])
    """

    __slots__ = ("ids", "ranges")

    ids: memoryview
    ranges: list[tuple[int, int]] | None

    def __init__(self, ids: memoryview, ranges: list[tuple[int, int]] | None = None) -> None:
        self.ids = ids
        self.ranges = ranges

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
        return _unpickled, (self.ids.tobytes(), self.ranges)

    def __repr__(self) -> str:
        shown = ", ".join(map(str, self.ids[:8]))
        return f"Tokens([{shown}{', ...' if len(self) > 8 else ''}], length {len(self)})"


def _unpickled(ids: bytes, ranges: list[tuple[int, int]] | None) -> Tokens:
    return Tokens(memoryview(ids).cast("I"), ranges)
