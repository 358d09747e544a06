"""What goes wrong, as exceptions."""

from __future__ import annotations


class TypecaseError(Exception):
    """Something that typecase refuses.

    ``kind`` names what is wrong (``"media_count"``); ``path`` says where in the request (``"messages[3].content[1]"``),
    and is empty where it is not about one place. The message has both in words.
    """

    kind: str
    path: str

    def __init__(self, message: str, kind: str = "", path: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.path = path

    def __reduce__(self) -> tuple[type, tuple[str, str, str]]:
        return type(self), (str(self), self.kind, self.path)


class RequestError(TypecaseError, ValueError):
    """The request is at fault: sending it again cannot help."""


class ModelError(TypecaseError):
    """Model files, settings or a bug are at fault."""
