"""The renderer for vLLM, with stand-ins for the parts of vLLM 0.33 that it touches: vLLM itself takes a GPU."""

import asyncio
import concurrent.futures
import importlib
import sys
import types

import pytest

import typecase

IMAGE = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
DEMO_PAD = typecase.Model.demo().anchors["image"]


class BaseRenderer:
    def __init__(self, config, tokenizer):
        self.config, self.model_config, self.tokenizer = config, config.model_config, tokenizer
        self._executor = concurrent.futures.ThreadPoolExecutor(1)


class Registry:
    def __init__(self):
        self.known = {}

    def register(self, mode, module, name):
        self.known[mode] = (module, name)


def parse_chat_messages(messages, model_config, **options):
    """Media in the order of the messages, each named after its message and part."""
    assert options["media_io_kwargs"] == {"image": {"image_mode": None}}
    found = [
        f"{row}.{column}"
        for row, message in enumerate(messages)
        if isinstance(message.get("content"), list)
        for column, part in enumerate(message["content"])
        if part["type"] == "image_url"
    ]
    data = {"image": found} if found else None
    return messages, data, {"image": [f"uuid {name}" for name in found]} if found else None


async def parse_chat_messages_async(*args, **options):
    return parse_chat_messages(*args, **options)


def make_async(function, executor):
    return lambda *args: asyncio.get_event_loop().run_in_executor(executor, function, *args)


@pytest.fixture
def vllm(monkeypatch):
    """The modules of vLLM."""
    names = {
        "vllm": {},
        "vllm.multimodal": {},
        "vllm.multimodal.media": {},
        "vllm.multimodal.media.connector": {"merge_media_io_kwargs": lambda a, b: {**a, **(b or {})}},
        "vllm.renderers": {},
        "vllm.renderers.base": {"BaseRenderer": BaseRenderer},
        "vllm.renderers.chat_utils": {
            "parse_chat_messages": parse_chat_messages,
            "parse_chat_messages_async": parse_chat_messages_async,
        },
        "vllm.renderers.registry": {"RENDERER_REGISTRY": Registry()},
        "vllm.tokenizers": {},
        "vllm.tokenizers.registry": {"TokenizerRegistry": Registry()},
        "vllm.utils": {},
        "vllm.utils.async_utils": {"make_async": make_async},
    }
    for name, contents in names.items():
        module = types.ModuleType(name)
        vars(module).update(contents)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, "typecase._vllm_renderer", raising=False)
    yield sys.modules
    sys.modules.pop("typecase._vllm_renderer", None)


@pytest.fixture
def renderer(vllm, tmp_path, monkeypatch):
    typecase.vllm.register_renderer()
    module, name = vllm["vllm.renderers.registry"].RENDERER_REGISTRY.known["typecase"]
    assert "typecase" in vllm["vllm.tokenizers.registry"].TokenizerRegistry.known
    module = importlib.import_module(module)
    monkeypatch.setattr(module.Model, "load", lambda directory: typecase.Model.demo())
    hf_config = types.SimpleNamespace(
        model_type="kimi_k3", media_placeholder_token_id=DEMO_PAD, image_placeholder="<|kimi_image_placeholder|>"
    )
    model_config = types.SimpleNamespace(hf_config=hf_config, model=str(tmp_path), revision=None)
    tokenizer = types.SimpleNamespace(encode=lambda text, add_special_tokens: [7, 8, 9])
    return getattr(module, name)(types.SimpleNamespace(model_config=model_config), tokenizer)


def params(**arguments):
    given = {key: arguments.pop(key) for key in ("tool_choice", "response_format") if key in arguments}
    return types.SimpleNamespace(
        media_io_kwargs=None,
        mm_processor_kwargs=None,
        tool_choice=given.get("tool_choice"),
        response_format=given.get("response_format"),
        get_apply_chat_template_kwargs=lambda: {"chat_template": None, "return_dict": False, **arguments},
    )


def test_the_prompt_is_that_of_the_model_in_vllms_form(renderer):
    messages = [{"role": "user", "content": [{"type": "text", "text": "<|media_pad|>"}, IMAGE]}]
    _, prompt = renderer.render_messages(messages, params(add_generation_prompt=True))
    expected = typecase.Model.demo().tokenize({"messages": messages}).tolist()
    at = expected.index(DEMO_PAD)
    assert prompt == {
        "prompt_token_ids": [*expected[:at], 7, 8, 9, *expected[at + 1 :]],
        "multi_modal_data": {"image": ["0.1"]},
        "multi_modal_uuids": {"image": ["uuid 0.1"]},
    }
    assert asyncio.run(renderer.render_messages_async(messages, params(add_generation_prompt=True)))[1] == prompt


def test_arguments_reach_the_request(renderer):
    messages = [{"role": "user", "content": "Hi"}]
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]
    arguments = params(tools=tools, reasoning_effort="none", add_generation_prompt=True, tool_choice="required")
    _, prompt = renderer.render_messages(messages, arguments)
    request = {"messages": messages, "tools": tools, "reasoning_effort": "none", "tool_choice": "required"}
    assert prompt == {"prompt_token_ids": typecase.Model.demo().tokenize(request).tolist()}
    with pytest.raises(ValueError, match="template"):
        renderer.render_messages(messages, params(chat_template="{{ messages }}"))


def test_media_of_tool_results_follow_their_placeholders(renderer):
    def call(name):
        return {"id": name, "type": "function", "function": {"name": name, "arguments": "{}"}}

    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "", "tool_calls": [call("a"), call("b")]},
        {"role": "tool", "tool_call_id": "b", "content": [IMAGE]},
        {"role": "tool", "tool_call_id": "a", "content": [IMAGE]},
        {"role": "user", "content": [IMAGE]},
    ]
    media = typecase.Model.demo().render({"messages": messages}).media
    assert [item.message for item in media] == [3, 2, 4], "the format puts results in the order of the calls"
    _, prompt = renderer.render_messages(messages, params())
    assert prompt["multi_modal_data"] == {"image": ["3.0", "2.0", "4.0"]}
    assert prompt["multi_modal_uuids"] == {"image": ["uuid 3.0", "uuid 2.0", "uuid 4.0"]}


def test_messages_that_can_be_read_once(renderer):
    class Message:
        def model_dump(self, mode, exclude_unset):
            return {"role": "user", "content": iter([{"type": "text", "text": "Hi"}, IMAGE])}

    _, prompt = renderer.render_messages([Message()], params())
    assert prompt["multi_modal_data"] == {"image": ["0.1"]}
