"""``apply_chat_template`` for transformers' tokenizers, with typecase rendering the template.

Parameters, return types and edge cases are those of transformers 5.23::

    typecase.patch(tokenizer)
    tokenizer.apply_chat_template(messages, add_generation_prompt=True)

or, without touching the tokenizer, ``typecase.apply_chat_template(tokenizer, messages, ...)``. Text is turned into ids
by the tokenizer itself, so padding, truncation, tensors and the ids are its own.

transformers is imported only to make schemas of functions that are given as tools.
"""

from __future__ import annotations

import functools
import inspect
import logging
import re
import time
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from typecase._typecase import Template

__all__ = ["apply_chat_template", "patch", "render_chat", "unpatch"]

logger = logging.getLogger("typecase")

_TAG = "CONTINUE_FINAL_MESSAGE_TAG "
_REASONING_FIELDS = ("reasoning_content", "thinking", "reasoning")
_GENERATION = re.compile(r"\{\%-?\s*generation\s*-?\%\}")

_template = functools.lru_cache(maxsize=128)(Template)


def apply_chat_template(
    tokenizer: Any,
    conversation: Any,
    tools: Sequence[Mapping[str, Any] | Callable[..., Any]] | None = None,
    documents: Sequence[Mapping[str, str]] | None = None,
    chat_template: str | None = None,
    add_generation_prompt: bool = False,
    continue_final_message: bool | str = False,
    tokenize: bool = True,
    sanitize_control_tokens: bool = False,
    padding: Any = False,
    truncation: bool = False,
    max_length: int | None = None,
    return_tensors: Any = None,
    return_dict: bool = True,
    return_assistant_tokens_mask: bool = False,
    tokenizer_kwargs: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> Any:
    """What ``tokenizer.apply_chat_template`` of transformers 5.23 gives for the same arguments.

    Raises what transformers raises; exceptions of the template are :class:`typecase.TemplateError` as well.
    """
    if not tokenize:
        return_dict = False
    if return_assistant_tokens_mask and not (return_dict and tokenize):
        raise ValueError("`return_assistant_tokens_mask=True` requires `return_dict=True` and `tokenize=True`")
    chat_template = tokenizer.get_chat_template(chat_template, tools)
    conversations, is_batched = _conversations(conversation)
    if continue_final_message:
        if add_generation_prompt:
            raise ValueError(
                "continue_final_message and add_generation_prompt are not compatible. Use continue_final_message when "
                "you want the model to continue the final message, and add_generation_prompt when you want to add a "
                "header that will prompt it to start a new assistant message instead."
            )
        if return_assistant_tokens_mask:
            raise ValueError("continue_final_message is not compatible with return_assistant_tokens_mask.")
    if sanitize_control_tokens:
        mark = getattr(tokenizer, "_mark_chat_inputs", None)
        if mark is None:
            raise ValueError("`sanitize_control_tokens=True` requires a tokenizer of transformers 5.23 or later")
        conversations, tools, documents, kwargs = mark(
            chat_template, conversations, tools, documents, kwargs, tokenize, return_assistant_tokens_mask
        )
    rendered, generation_indices = render_chat(
        conversations,
        chat_template,
        tools=tools,
        documents=documents,
        add_generation_prompt=add_generation_prompt,
        continue_final_message=continue_final_message,
        return_assistant_tokens_mask=return_assistant_tokens_mask,
        variables={**tokenizer.special_tokens_map, **kwargs},
    )
    text = rendered if is_batched else rendered[0]
    if not tokenize:
        return text
    options = dict(tokenizer_kwargs or {})
    if sanitize_control_tokens:
        options["sanitize_control_tokens"] = True
    out = tokenizer(
        text,
        padding=padding,
        truncation=truncation,
        max_length=max_length,
        add_special_tokens=False,
        return_tensors=return_tensors,
        **options,
    )
    if not return_dict:
        return out["input_ids"]
    if return_assistant_tokens_mask:
        _add_masks(out, generation_indices, is_batched, return_tensors)
    return out


def render_chat(
    conversations: Sequence[Any],
    chat_template: str,
    *,
    tools: Any = None,
    documents: Any = None,
    add_generation_prompt: bool = False,
    continue_final_message: bool | str = False,
    return_assistant_tokens_mask: bool = False,
    variables: Mapping[str, Any] | None = None,
) -> tuple[list[str], list[list[tuple[int, int]]]]:
    """The texts of conversations, and the spans of their ``{% generation %}`` blocks in code points.

    As ``render_jinja_template`` of transformers 5.23; several conversations are rendered on all cores.

    >>> render_chat([[{"role": "user", "content": "Hi"}]], "{{ messages[0].content }}!")
    (['Hi!'], [])
    """
    if return_assistant_tokens_mask:
        _warn_without_generation(chat_template)
    template = _template(chat_template)
    tools = None if tools is None else [_tool_schema(tool) for tool in tools]
    for document in documents or ():
        if not isinstance(document, dict):
            raise TypeError("Documents should be a list of dicts with 'title' and 'text' keys!")
    chats: list[list[dict[str, Any]]] = []
    continued: list[str] = []
    for conversation in conversations:
        chat = [_message(message) for message in getattr(conversation, "messages", conversation)]
        if continue_final_message:
            continued.append(_open_final_message(chat, continue_final_message, chat_template))
        chats.append(chat)
    batch = [
        # As the keyword arguments of a call, so that variables of these names are refused.
        dict(
            messages=chat,
            tools=tools,
            documents=documents,
            add_generation_prompt=add_generation_prompt,
            **(variables or {}),
        )
        for chat in chats
    ]
    now = _now()
    if len(batch) == 1:
        results = [template.render(batch[0], now=now)]
    else:
        results = template.render_batch(batch, now=now)
    texts = [text for text, _ in results]
    if continue_final_message:
        texts = [_cut(text, final) for text, final in zip(texts, continued, strict=True)]
    return texts, [spans for _, spans in results] if return_assistant_tokens_mask else []


@functools.lru_cache(maxsize=128)
def _warn_without_generation(chat_template: str) -> None:
    if not _GENERATION.search(chat_template):
        logger.warning(
            "return_assistant_tokens_mask==True but chat template does not contain `{% generation %}` keyword."
        )


def _conversations(conversation: Any) -> tuple[list[list[dict[str, Any]]], bool]:
    """The conversations without the fields that are ``None``, and whether there is a batch of them."""
    is_list = isinstance(conversation, (list, tuple))
    if is_list and len(conversation) == 0:
        raise ValueError("Cannot apply chat template to an empty conversation. Provide at least one message.")
    is_batched = is_list and (isinstance(conversation[0], (list, tuple)) or hasattr(conversation[0], "messages"))
    conversations = conversation if is_batched else [conversation]
    return [
        [{key: value for key, value in message.items() if value is not None} for message in chat]
        for chat in conversations
    ], is_batched


def _plain(value: Any) -> Any:
    """``value`` where it is plain data already, else a step towards it."""
    from typecase._plain import plain

    return value if value is None or isinstance(value, (str, int, float, list, tuple, dict)) else plain(value)


def _message(message: Any) -> dict[str, Any]:
    """A message as a dict of its own, with its reasoning under each name that templates read."""
    made = _plain(message)
    if not isinstance(made, dict):
        raise TypeError(f"Chat messages should be dicts, dataclasses or pydantic models, but got {message!r}.")
    message = made
    reasoning = next((message[key] for key in _REASONING_FIELDS if message.get(key) is not None), None)
    if reasoning is not None:
        return {"thinking": reasoning, **message, "reasoning_content": reasoning}
    return dict(message)


def _tool_schema(tool: Any) -> Any:
    if isinstance(tool, dict):
        return tool
    if inspect.isfunction(tool) or inspect.ismethod(tool):
        from transformers.utils import get_json_schema

        return get_json_schema(tool)
    raise ValueError(
        "Tools should either be a JSON schema, or a callable function with type hints "
        "and a docstring suitable for auto-conversion to a schema."
    )


def _open_final_message(chat: list[dict[str, Any]], field: bool | str, chat_template: str) -> str:
    """Puts the tag behind the text to continue, and gives back that text."""
    if not chat:
        raise ValueError("continue_final_message is set but the conversation is empty!")
    field = field if isinstance(field, str) else "content"
    last = chat[-1]
    final = last.get(field)
    if final is None:
        raise ValueError(f'continue_final_message is set but the final message has no "{field}" to continue!')
    # Reasoning stands under several names: each is tagged, and whichever the template reads counts.
    fields = [name for name in _REASONING_FIELDS if last.get(name) == final] if field in _REASONING_FIELDS else [field]
    if not any(name in chat_template for name in fields):
        raise ValueError(
            f'continue_final_message is set to "{field}" but this is not an accepted field in the chat_template'
        )
    if not isinstance(final, (list, tuple)):
        for name in fields:
            last[name] = last[name] + _TAG
        return final
    blocks = [block if isinstance(block, dict) else _plain(block) for block in final]
    for index in reversed(range(len(blocks))):
        if "text" in blocks[index]:
            text = blocks[index]["text"]
            blocks[index] = {**blocks[index], "text": text + _TAG}
            for name in fields:
                last[name] = blocks
            return text
    raise ValueError("continue_final_message is set but we could not find any text to continue in the final message!")


def _cut(text: str, final: str) -> str:
    """The text up to the tag."""
    tag = _TAG.strip()
    if final.strip() not in text or tag not in text:
        raise ValueError(
            "continue_final_message is set but the final message does not appear in the chat after applying the chat "
            "template! This can happen if the chat template deletes portions of the final message. Please verify the "
            "chat template and final message in your chat to ensure they are compatible."
            f"Final message to continue: {final.strip()}\nRendered chat:\n{text}"
        )
    place = text.rindex(tag)
    kept = text[:place]
    # Where the template trims the message, it trims the blank of the tag, and would have trimmed the text's.
    return kept if text.startswith(_TAG, place) else kept.rstrip()


def _add_masks(out: Any, generation_indices: list, is_batched: bool, return_tensors: Any) -> None:
    several = is_batched or return_tensors
    input_ids = out["input_ids"] if several else [out["input_ids"]]
    masks = []
    for row, ids in enumerate(input_ids):
        mask = [0] * len(ids)
        for start, end in generation_indices[row]:
            first, last = out.char_to_token(row, start), out.char_to_token(row, end - 1)
            if first is None:
                # Cut off by truncation.
                break
            for token in range(first, last + 1 if last else len(ids)):
                mask[token] = 1
        masks.append(mask)
    out["assistant_masks"] = masks if several else masks[0]
    if return_tensors:
        out.convert_to_tensors(tensor_type=return_tensors)


def _now() -> tuple[int, int, int]:
    seconds = time.time()
    return int(seconds), int(seconds % 1 * 1_000_000), time.localtime(seconds).tm_gmtoff


class _Patched:
    """``apply_chat_template`` of one tokenizer. A class of its own, so that patched tokenizers pickle."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        functools.update_wrapper(self, apply_chat_template, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return apply_chat_template(self.tokenizer, *args, **kwargs)


class _PatchedProcessor:
    """``apply_chat_template`` of one processor: its own, but for who renders the template."""

    def __init__(self, processor: Any) -> None:
        self.processor = processor

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _rendering(type(self.processor).apply_chat_template)(self.processor, *args, **kwargs)


@functools.lru_cache(maxsize=128)
def _rendering(method: Any) -> Any:
    """A copy of a processor's method whose ``render_jinja_template`` is typecase's. No module of transformers is
    changed, so other processors go on as they are."""
    own = inspect.unwrap(method)
    if "render_jinja_template" not in own.__code__.co_names:
        raise TypeError(f"{own.__qualname__} is not of the kind that transformers 5 has")
    names = {**own.__globals__, "render_jinja_template": _render_jinja_template}
    copy = types.FunctionType(own.__code__, names, own.__name__, own.__defaults__, own.__closure__)
    copy.__kwdefaults__ = own.__kwdefaults__
    return copy


def _render_jinja_template(
    conversations: Sequence[Any],
    tools: Any = None,
    documents: Any = None,
    chat_template: str | None = None,
    return_assistant_tokens_mask: bool = False,
    continue_final_message: bool | str = False,
    add_generation_prompt: bool = False,
    **variables: Any,
) -> tuple[list[str], list[list[tuple[int, int]]]]:
    return render_chat(
        conversations,
        chat_template or "",
        tools=tools,
        documents=documents,
        add_generation_prompt=add_generation_prompt,
        continue_final_message=continue_final_message,
        return_assistant_tokens_mask=return_assistant_tokens_mask,
        variables=variables,
    )


def patch(tokenizer: Any) -> Any:
    """Makes ``tokenizer.apply_chat_template`` render with typecase, and gives back the tokenizer.

    A processor is patched like a tokenizer; how it loads and samples media stays its own. Only this object is touched,
    not its class; :func:`unpatch` undoes it.
    """
    is_processor = hasattr(tokenizer, "tokenizer") and not hasattr(tokenizer, "special_tokens_map")
    tokenizer.apply_chat_template = _PatchedProcessor(tokenizer) if is_processor else _Patched(tokenizer)
    return tokenizer


def unpatch(tokenizer: Any) -> Any:
    """Undoes :func:`patch`, and gives back the tokenizer or processor."""
    tokenizer.__dict__.pop("apply_chat_template", None)
    return tokenizer
