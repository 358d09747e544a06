"""What goes wrong, as exceptions."""

from __future__ import annotations

import functools


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


class TemplateError(RequestError):
    """A chat template raised an exception, or ran into something that Python would raise one for.

    ``kind`` says which: ``"raise_exception"`` where the template refused by itself, then ``message`` is what it said;
    ``"undefined"``, ``"type"``, ``"security"``, ``"syntax"`` and so on. ``line`` and ``column`` are the place in the
    template. Where jinja2 is installed, the exception is also one of jinja2's or Python's own of that kind, so code
    that catches those goes on working.
    """

    line: int | None = None
    column: int | None = None

    @property
    def message(self) -> str:
        """What Python's exception would say."""
        return str(self.args[0])


_PYTHON = {
    "type": TypeError,
    "value": ValueError,
    "key": KeyError,
    "index": IndexError,
    "attribute": AttributeError,
    "zero_division": ZeroDivisionError,
    "overflow": OverflowError,
    "recursion": RecursionError,
}
_JINJA = {
    "syntax": "TemplateSyntaxError",
    "raise_exception": "TemplateError",
    "undefined": "UndefinedError",
    "security": "SecurityError",
    "runtime": "TemplateRuntimeError",
}


def template_error(message: str, kind: str, position: tuple[int, int] | None) -> TemplateError:
    """The exception of a template, which is also what Python would have raised."""
    error = _template_class(kind)(message, kind)
    error.line, error.column = position or (None, None)
    if position and hasattr(error, "add_note"):
        error.add_note(f"at line {error.line}, column {error.column} of the chat template")
    # jinja2's exception for syntax has more of these.
    error.__dict__.update(lineno=error.line, name=None, filename=None, source=None, translated=True)
    return error


@functools.cache
def _template_class(kind: str) -> type[TemplateError]:
    base = _PYTHON.get(kind)
    if base is None and kind in _JINJA:
        try:
            import jinja2.exceptions
        except ImportError:
            return TemplateError
        base = getattr(jinja2.exceptions, _JINJA[kind])
    if base is None or issubclass(TemplateError, base):
        return TemplateError

    class Raised(TemplateError, base):
        def __init__(self, message: str, kind: str = "", path: str = "") -> None:
            Exception.__init__(self, message)
            self.kind, self.path = kind, path

        def __str__(self) -> str:
            return str(self.args[0])

        def __reduce__(self) -> tuple:
            return template_error, (self.message, self.kind, None if self.line is None else (self.line, self.column))

    Raised.__name__ = Raised.__qualname__ = "TemplateError"
    Raised.__module__ = "typecase"
    return Raised
