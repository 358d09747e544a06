"""Rich objects as plain data, as transformers makes them before a chat template may see them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any


def plain(value: Any) -> Any:
    """One step of making ``value`` plain; called for what is no ``str``, ``int``, ``float``, list, tuple or dict."""
    if isinstance(value, Mapping):
        return dict(value.items())
    if _is_numpy_scalar(value):
        # `np.bool_(False)` would be a truthy "<bool>" otherwise.
        return value.item()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if callable(getattr(value, "model_dump", None)):
        return value.model_dump()
    # Images, arrays and the like: templates only ask whether they are there.
    return f"<{type(value).__name__}>"


def _is_numpy_scalar(value: Any) -> bool:
    return any(base.__module__ == "numpy" and base.__name__ == "generic" for base in type(value).__mro__)
