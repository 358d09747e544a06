"""Models: requests to prompts, prompts to token ids."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple

from typecase import _typecase
from typecase._tokens import MediaItem, Tokens
from typecase.media import Image, Video

__all__ = ["Expanded", "ExpandedItem", "Explained", "MediaItem", "Model", "Prompt", "Run"]

Request = str | bytes | Mapping[str, Any]


class Run(NamedTuple):
    """Text of a prompt that one writer wrote."""

    text: str
    #: ``"format"``, ``"config"`` or ``"request"``.
    writer: str
    #: The field of the request that it came from: ``messages[3].content[1].text``.
    path: str | None


class Notice(NamedTuple):
    """Something in a request that the format could not take as it is."""

    #: Where in the request: ``chat_template_kwargs.bos_token``.
    path: str
    #: What was done, as a name: ``"keyword_passed_over"``.
    code: str
    #: The same in words.
    message: str


class Expanded(NamedTuple):
    """The ids of a prompt as an engine's model sees them."""

    tokens: Tokens
    #: Where each media item is among the ids, in the order of the prompt.
    items: list[ExpandedItem]


class ExpandedItem(NamedTuple):
    """Where a media item is in an expanded prompt."""

    #: All of it, with its frame.
    tokens: tuple[int, int]
    #: The ids in whose place its features are put.
    embeds: list[tuple[int, int]]


class Explained(NamedTuple):
    """The ids of a request, and where each came from: lists of one item per id."""

    tokens: Tokens
    #: The message that it belongs to, or -1.
    messages: list[int]
    #: Whether it is content of that message, not the format's scaffolding.
    content_mask: list[bool]
    #: Whether a model wrote it, or is to learn to write it.
    generation_mask: list[bool]


class Prompt:
    """A rendered prompt."""

    __slots__ = ("_now", "_prompt")

    def __init__(self, prompt: _typecase.Prompt, now: tuple[int, int, int]) -> None:
        self._prompt = prompt
        self._now = now

    @property
    def text(self) -> str:
        """The whole text."""
        return self._prompt.text

    @property
    def segments(self) -> list[tuple[str, str]]:
        """The units of encoding, and which special tokens each may become: ``"all"``, ``"none"`` or ``"trusted"``."""
        return self._prompt.segments

    @property
    def provenance(self) -> list[Run]:
        """Who wrote each part of the text."""
        return [Run(*run) for run in self._prompt.provenance]

    @property
    def media(self) -> list[MediaItem]:
        """The media items, in the order in which their placeholders stand."""
        return [MediaItem(*item) for item in self._prompt.media]

    @property
    def generation_stub(self) -> tuple[int, int] | None:
        """Where the opened assistant turn is that the model is to continue, in code points."""
        return self._prompt.generation_stub

    @property
    def warnings(self) -> list[Notice]:
        """What the format did with parts of the request that it could not take as they are."""
        return [Notice(*notice) for notice in self._prompt.warnings]

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Prompt({self.text!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        fields = ("text", "segments", "provenance", "media", "generation_stub", "warnings", "request")
        return _unpickled, ({name: getattr(self._prompt, name) for name in fields}, self._now)


def _unpickled(fields: dict[str, Any], now: tuple[int, int, int]) -> Prompt:
    return Prompt(SimpleNamespace(**fields), now)  # type: ignore[arg-type]


class Model:
    """A loaded model. Threads may share it; the interpreter's lock is let go while it works.

    >>> model = Model.demo()
    >>> request = {"messages": [{"role": "user", "content": "Hi"}], "reasoning_effort": "none"}
    >>> print(model.render(request))
    <|open|>message role="user"<|sep|>Hi<|close|>message<|sep|><|end_of_msg|><|open|>message role="assistant"<|sep|><|open|>response<|sep|>
    >>> tokens = model.tokenize(request)
    >>> model.decode(tokens) == str(model.render(request))
    True

    A request is OpenAI chat-completion JSON, as ``str``, ``bytes`` or a dict. What is wrong with one is told by
    :class:`typecase.RequestError`, whose ``path`` says where:

    >>> model.render({"messages": [{"role": "user", "content": [{"type": "hologram"}]}]})
    Traceback (most recent call last):
    ...
    typecase.RequestError: messages[0].content[0]: part type "hologram" is not supported by kimi_k3; it takes text, image_url
    """

    __slots__ = ("_directory", "_model")

    def __init__(self, model: _typecase.Model, directory: str | None) -> None:
        self._model = model
        self._directory = directory

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> Model:
        """The model in ``directory``: ``config.json``, the vocabulary, and the chat templates.

        Raises :class:`typecase.ModelError` if a file is missing or broken.
        """
        path = os.path.abspath(directory)
        return cls(_typecase.Model.load(path), path)

    @classmethod
    def demo(cls) -> Model:
        """A small model in Kimi K3's layout that comes with the package. Its ids mean nothing to any real model."""
        return cls(_typecase.Model.demo(), None)

    @property
    def model_type(self) -> str | None:
        """``model_type`` of ``config.json``."""
        return self._model.model_type

    @property
    def stop_ids(self) -> list[int]:
        """The tokens with which the model ends its turn."""
        return self._model.stop_ids

    @property
    def special_tokens(self) -> dict[str, str]:
        """The tokens that the configuration names: ``{"bos_token": "<s>"}``."""
        return dict(self._model.special_tokens)

    @property
    def templates(self) -> dict[str, str]:
        """The chat templates that come with the model, by name."""
        return dict(self._model.templates)

    def render(self, request: Request) -> Prompt:
        """The prompt of a request."""
        now = _now()
        return Prompt(self._model.render(request, now=now), now)

    def encode(self, prompt: Prompt, *, ranges: bool = False) -> Tokens:
        """The ids of a prompt; with ``ranges``, also the bytes of it that each stands for."""
        return Tokens(*self._model.tokenize(prompt._prompt.request, ranges=ranges, now=prompt._now))

    def tokenize(self, request: Request, *, ranges: bool = False) -> Tokens:
        """The ids of a request: rendered and encoded in one go."""
        return Tokens(*self._model.tokenize(request, ranges=ranges, now=_now()))

    def tokenize_batch(self, requests: Iterable[Request], *, ranges: bool = False) -> list[Tokens]:
        """The ids of several requests, on all cores. The path of an error begins with the number of its request."""
        batch = self._model.tokenize_batch(list(requests), ranges=ranges, now=_now())
        return [Tokens(*tokens) for tokens in batch]

    def explain(self, request: Request) -> Explained:
        """The ids of a request with where each came from, as training needs it.

        >>> model = Model.demo()
        >>> messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
        >>> explained = model.explain({"messages": messages, "reasoning_effort": "none"})
        >>> learned = [id for id, wanted in zip(explained.tokens, explained.generation_mask) if wanted]
        >>> model.decode(learned).startswith("Hi")
        False
        """
        ids, *rows = self._model.explain(request, now=_now())
        return Explained(Tokens(ids), *rows)

    @property
    def anchors(self) -> dict[str, int]:
        """The id of the placeholder of each kind of media that has one.

        >>> Model.demo().anchors
        {'image': 2837}
        """
        return dict(self._model.anchors)

    def expand(self, tokens: Any, media: Iterable[Image | Video]) -> Expanded:
        """The ids as an engine's model sees them, with every placeholder expanded, for routers that hash them.

        ``tokens`` are canonical ids, ``media`` the sizes of the items in the order in which their placeholders stand.
        Raises :class:`typecase.RequestError` if there are not as many.

        >>> model = Model.demo()
        >>> part = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
        >>> tokens = model.tokenize({"messages": [{"role": "user", "content": [part]}]})
        >>> expanded = model.expand(tokens, [Image(1920, 1080)])
        >>> (first, last), = expanded.items[0].embeds
        >>> last - first
        2691
        """
        sent = [
            ("image", *item, None, None) if isinstance(item, Image) else ("video", *item[:2], list(item[2]), item[3])
            for item in media
        ]
        ids, items = self._model.expand(tokens.ids if isinstance(tokens, Tokens) else tokens, sent)
        return Expanded(Tokens(ids), [ExpandedItem(*item) for item in items])

    def encode_text(self, text: str, *, special_tokens: bool = False) -> Tokens:
        """The ids of text on its own; special tokens in it count only with ``special_tokens``."""
        return Tokens(self._model.encode_text(text, special_tokens=special_tokens))

    def decode(self, ids: Any) -> str:
        """The text of ids."""
        return self._model.decode(ids.ids if isinstance(ids, Tokens) else ids)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Model.demo, ()) if self._directory is None else (Model.load, (self._directory,))

    def __repr__(self) -> str:
        return f"<typecase.Model {self._directory or 'demo'}>"


def _now() -> tuple[int, int, int]:
    seconds = time.time()
    return int(seconds), int(seconds % 1 * 1_000_000), time.localtime(seconds).tm_gmtoff
