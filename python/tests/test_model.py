import json
import pickle
import sys
import threading

import pytest

import typecase

REQUEST = {"messages": [{"role": "user", "content": "Hi <|open|> é"}], "reasoning_effort": "none"}


@pytest.fixture(scope="module")
def model():
    return typecase.Model.demo()


def test_the_same_request_as_dict_text_and_bytes(model):
    text = json.dumps(REQUEST)
    assert model.tokenize(REQUEST) == model.tokenize(text) == model.tokenize(text.encode())
    with pytest.raises(TypeError):
        model.tokenize(7)


def test_request_text_never_becomes_a_control_token(model):
    prompt = model.render(REQUEST)
    assert prompt.text.count("<|open|>") == 4
    tokens = model.encode(prompt)
    open_id = model.encode_text("<|open|>", special_tokens=True)
    assert len(open_id) == 1
    assert tokens.tolist().count(open_id[0]) == 3
    assert len(model.encode_text("<|open|>")) > 1
    assert model.decode(tokens) == prompt.text
    assert ("Hi <|open|> é", "none") in prompt.segments
    assert ("Hi <|open|> é", "request", "messages[0].content") in prompt.provenance


def test_offsets_are_code_points(model):
    prompt = model.render(REQUEST)
    start, end = prompt.generation_stub
    assert prompt.text[start:end].startswith('<|open|>message role="assistant"')
    assert end == len(prompt.text)


def test_what_could_not_be_taken_is_told(model):
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "no JSON"}}
    messages = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "", "tool_calls": [call]}]
    prompt = model.render({"messages": messages})
    assert [(notice.path, notice.code) for notice in prompt.warnings] == [
        ("messages[1].tool_calls[0].function.arguments", "arguments_verbatim")
    ]
    assert model.render(REQUEST).warnings == []


def test_the_stub_of_a_template(tmp_path):
    template = "{% for m in messages %}[{{ m.content }}]{% endfor %}{% if add_generation_prompt %}[é]{% endif %}"
    (tmp_path / "chat_template.jinja").write_text(template, encoding="utf-8")
    words = {"model": {"type": "WordLevel", "vocab": {"x": 0}, "unk_token": "x"}, "added_tokens": []}
    (tmp_path / "tokenizer.json").write_text(json.dumps(words), encoding="utf-8")
    prompt = typecase.Model.load(tmp_path).render(REQUEST)
    start, end = prompt.generation_stub
    assert prompt.text[start:end] == "[é]"


def test_media_are_in_the_order_of_the_prompt(model):
    url = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    content = [{"type": "text", "text": "é <|media_pad|>"}, url, url]
    prompt = model.render({"messages": [{"role": "user", "content": content}]})
    assert [(item.modality, item.ordinal, item.message, item.part) for item in prompt.media] == [
        ("image", 0, 0, 1),
        ("image", 1, 0, 2),
    ]
    for item in prompt.media:
        assert prompt.text[slice(*item.placeholder)] == "<|media_pad|>"
    pad = model.encode_text("<|media_pad|>", special_tokens=True)[0]
    ids = model.encode(prompt)
    assert ids.tolist().count(pad) == 2
    adapter = typecase.vllm.VllmKimiK3(pad, [1, 2])
    assert len(adapter.prompt_ids(ids.ids, images=2)) == len(ids) + 2


def test_errors_say_where(model):
    with pytest.raises(typecase.RequestError) as caught:
        model.render({"messages": [{"role": "user", "content": [{"type": "hologram"}]}]})
    assert caught.value.path.startswith("messages[0].content[0]")
    assert caught.value.kind == "unsupported_part"
    with pytest.raises(typecase.RequestError) as caught:
        model.render("{")
    assert caught.value.kind == "invalid_json"
    with pytest.raises(typecase.ModelError) as caught:
        typecase.Model.load("/nowhere")
    assert caught.value.kind == "no_model_directory"


def test_batches_and_threads_give_the_same_ids(model):
    requests = [{"messages": [{"role": "user", "content": f"{n} " * n}]} for n in range(50)]
    expected = [model.tokenize(request).tolist() for request in requests]
    assert [tokens.tolist() for tokens in model.tokenize_batch(requests)] == expected
    wrong = []

    def work():
        for request, ids in zip(requests, expected, strict=True):
            if model.tokenize(request).tolist() != ids:
                wrong.append(request)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    requests[7] = {"messages": 3}
    with pytest.raises(typecase.RequestError) as caught:
        model.tokenize_batch(requests)
    assert caught.value.path.startswith("[7]")


def test_ranges_cover_the_text(model):
    prompt = model.render(REQUEST)
    tokens = model.encode(prompt, ranges=True)
    assert len(tokens.ranges) == len(tokens)
    text = prompt.text.encode()
    assert b"".join(text[start:end] for start, end in tokens.ranges) == text


def test_ids_are_shared_not_copied(model):
    tokens = model.tokenize(REQUEST)
    assert tokens.ids.format == "I"
    assert tokens.ids.readonly
    numpy = pytest.importorskip("numpy")
    ids = numpy.asarray(tokens)
    assert ids.dtype == numpy.uint32
    assert numpy.shares_memory(ids, numpy.frombuffer(tokens.ids, dtype="uint32"))
    assert numpy.asarray(tokens, dtype="int64").tolist() == tokens.tolist()
    if sys.version_info >= (3, 12):
        assert memoryview(tokens).tolist() == tokens.tolist()


def test_pickling(model):
    tokens = model.tokenize(REQUEST)
    assert pickle.loads(pickle.dumps(tokens)) == tokens
    assert pickle.loads(pickle.dumps(model)).tokenize(REQUEST) == tokens
    assert typecase.Tokens(tokens.ids) == tokens.tolist()
    prompt = model.render(REQUEST)
    copy = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(prompt))))
    assert model.encode(copy) == tokens
    for name in ("text", "segments", "provenance", "media", "generation_stub", "warnings"):
        assert getattr(copy, name) == getattr(prompt, name)


def test_where_tokens_came_from(model):
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    request = {"messages": messages, "reasoning_effort": "none", "add_generation_prompt": False}
    explained = model.explain(request)
    assert explained.tokens == model.tokenize(request)
    assert {len(row) for row in explained} == {len(explained.tokens)}

    def text(mask):
        return model.decode([id for id, wanted in zip(explained.tokens, mask, strict=True) if wanted])

    assert text(explained.content_mask) == "HiHello"
    assert "Hello" in text(explained.generation_mask)
    assert "Hi" not in text(explained.generation_mask)
    assert set(explained.messages) <= {-1, 0, 1}
    assert model.templates == {}


def test_where_the_placeholders_are_among_the_tokens(model):
    url = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    content = [{"type": "text", "text": "<|media_pad|>"}, url, url]
    tokens = model.tokenize({"messages": [{"role": "user", "content": content}]})
    assert tokens.ranges is None
    assert [list(tokens[slice(*item.tokens)]) for item in tokens.media] == [[model.anchors["image"]]] * 2
    assert pickle.loads(pickle.dumps(tokens)).media == tokens.media
    expanded = model.expand(tokens, [typecase.Image(30, 20), typecase.Image(1920, 1080)])
    counts = [end - start for item in expanded.items for start, end in item.embeds]
    assert counts == [2, 2691]
    for item in expanded.items:
        assert set(expanded.tokens[slice(*item.embeds[0])]) == {model.anchors["image"]}
        assert model.decode(expanded.tokens[slice(*item.tokens)]).startswith("<|media_begin|>image ")
    with pytest.raises(typecase.RequestError, match=r"2 .* 1 "):
        model.expand(tokens, [typecase.Image(30, 20)])


def test_all_of_the_public_api_has_docstrings():
    for name in typecase.__all__:
        assert getattr(typecase, name).__doc__, name
