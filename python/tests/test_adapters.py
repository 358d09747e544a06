import array
import pickle

import pytest

import typecase
from typecase.vllm import Adapter

PAD = 163605
CONFIG = {"model_type": "kimi_k3", "media_placeholder_token_id": PAD, "image_placeholder": "<|img|>"}


class Tokenizer:
    def encode(self, text, *, add_special_tokens):
        assert not add_special_tokens
        return [27, 91, 74]


@pytest.fixture
def adapter():
    return Adapter(lambda: CONFIG, Tokenizer())


@pytest.mark.parametrize("data", [{"image": "a"}, {"image": ["a"]}, {"vision_chunk": {"type": "image"}}, {"vision_chunk": ["a"]}])
def test_one_image_as_itself_or_in_a_list(adapter, data):
    assert adapter.prompt_ids([1, PAD, 2], data) == [1, 27, 91, 74, 2]


@pytest.mark.parametrize("code", "IiLlQq")
def test_buffers_of_any_integer(adapter, code):
    out = adapter.prompt_ids(array.array(code, [1, PAD, 2, PAD]), {"image": ["a", "b"]})
    assert isinstance(out, memoryview)
    assert out.format == "I"
    assert out.tolist() == [1, 27, 91, 74, 2, 27, 91, 74]


def test_numpy(adapter):
    numpy = pytest.importorskip("numpy")
    for dtype in ("uint32", "int32", "int64", "uint64"):
        ids = numpy.array([1, PAD, 2], dtype=dtype)
        out = adapter.prompt_ids(ids, {"image": ["a"]})
        assert numpy.asarray(out).tolist() == [1, 27, 91, 74, 2]
        assert adapter.prompt_ids(ids, {}) is ids
    strided = numpy.array([1, 0, PAD, 0, 2, 0], dtype="uint32")[::2]
    assert adapter.prompt_ids(strided, {"image": ["a"]}).tolist() == [1, 27, 91, 74, 2]
    with pytest.raises(TypeError, match="format"):
        adapter.prompt_ids(numpy.array([1.0]), {"image": ["a"]})


@pytest.mark.parametrize("data", [None, {}, {"image": None}, {"image": []}, {"audio": ["a"]}])
def test_without_raw_images_the_same_object(adapter, data):
    for ids in ([1, PAD], array.array("I", [1, PAD])):
        assert adapter.prompt_ids(ids, data) is ids


def test_a_prompt_of_vllms_own_is_the_same_object(adapter):
    for ids in ([1, 27, 91, 74], array.array("I", [1, 27, 91, 74]), [], array.array("q")):
        assert adapter.prompt_ids(ids, {"image": ["a"]}) is ids


def test_a_mismatch_names_both_counts(adapter):
    with pytest.raises(typecase.RequestError, match=r"5 .* 1 ") as caught:
        adapter.prompt_ids([PAD] * 5, {"image": ["a"]})
    assert caught.value.kind == "media_count"
    assert isinstance(caught.value, ValueError)


def test_missing_metadata_is_asked_for_again_and_wrong_metadata_is_named():
    config = {}
    adapter = Adapter(lambda: config or None, Tokenizer())
    ids = [PAD]
    assert adapter.prompt_ids(ids, {"image": "a"}) is ids
    config["model_type"] = "kimi_k3"
    assert adapter.prompt_ids(ids, {"image": "a"}) is ids
    config.update(CONFIG, image_placeholder=7)
    with pytest.raises(typecase.ModelError, match="image_placeholder"):
        adapter.prompt_ids(ids, {"image": "a"})
    config.update(CONFIG, media_placeholder_token_id="163605")
    with pytest.raises(typecase.ModelError, match="media_placeholder_token_id"):
        adapter.prompt_ids(ids, {"image": "a"})
    config.update(CONFIG)
    assert adapter.prompt_ids(ids, {"image": "a"}) == [27, 91, 74]
    config.clear()
    assert adapter.prompt_ids(ids, {"image": "a"}) == [27, 91, 74], "what was found is kept"


@pytest.mark.parametrize("ids", [[], ["27"], [True]])
def test_a_placeholder_that_does_not_encode_is_named(ids):
    class Broken:
        def encode(self, text, *, add_special_tokens):
            return ids

    with pytest.raises(typecase.ModelError, match="image_placeholder"):
        Adapter(lambda: CONFIG, Broken()).prompt_ids([PAD], {"image": "a"})


def test_a_tokenizer_that_fails_is_asked_again():
    asked = []

    def tokenizer():
        asked.append(1)
        if len(asked) == 1:
            raise RuntimeError("not yet")
        return Tokenizer()

    adapter = Adapter(lambda: CONFIG, tokenizer)
    with pytest.raises(RuntimeError, match="not yet"):
        adapter.prompt_ids([PAD], {"image": "a"})
    assert adapter.prompt_ids([PAD], {"image": "a"}) == [27, 91, 74]
    assert adapter.prompt_ids([PAD], {"image": "a"}) == [27, 91, 74]
    assert len(asked) == 2


def test_another_model_passes_for_good():
    asked = []

    def config():
        asked.append(1)
        return {"model_type": "qwen3_vl"}

    adapter = Adapter(config, Tokenizer())
    ids = [PAD]
    assert adapter.prompt_ids(ids, {"image": "a"}) is ids
    assert adapter.prompt_ids(ids, {"image": "a"}) is ids
    assert len(asked) == 1


def test_a_million_ids(adapter):
    ids = array.array("I", range(1_000, 1_001_000))
    places = [0, 63, 64, 500_000, 999_999]
    for place in places:
        ids[place] = 200_000 + PAD  # not a placeholder, once PAD itself is overwritten below
    ids[PAD - 1_000] = 7
    for place in places:
        ids[place] = PAD
    out = adapter.prompt_ids(ids, {"image": ["a"] * 5})
    assert len(out) == 1_000_010
    assert out[:4].tolist() == [27, 91, 74, ids[1]]


def test_tokens_prompt(adapter):
    prompt = adapter.tokens_prompt(array.array("I", [PAD]), {"image": ["a"]}, multi_modal_uuids={"image": ["u"]}, cache_salt=None)
    assert prompt == {
        "prompt_token_ids": [27, 91, 74],
        "multi_modal_data": {"image": ["a"]},
        "multi_modal_uuids": {"image": ["u"]},
    }
    assert adapter.tokens_prompt([1, 2]) == {"prompt_token_ids": [1, 2]}


def test_sglang():
    adapter = typecase.sglang.Adapter({"image": 10, "video": 11})
    ids = [1, 10, 11, 10]
    assert adapter.prompt_ids(ids, image_data=["a", "b"], video_data="v") is ids
    with pytest.raises(typecase.RequestError, match=r"1 video .* 0 video"):
        adapter.prompt_ids(ids, image_data=["a", "b"])
    given = adapter.generate_input(array.array("I", ids), image_data=["a", "b"], video_data="v", rid="r")
    assert given == {"input_ids": ids, "image_data": ["a", "b"], "video_data": "v", "rid": "r"}


def test_tensorrt_llm():
    config = {"model_type": "qwen2_5_vl", "image_token_id": 10, "video_token_id": 11}
    adapter = typecase.tensorrt_llm.Adapter.from_config(config)
    ids = [1, 10, 11, 10]
    data = {"image": ["a", "b"], "video": "v"}
    assert adapter.prompt_ids(ids, data) is ids
    prompt = adapter.tokens_prompt(array.array("I", ids), data, mm_processor_kwargs={})
    assert prompt == {"prompt_token_ids": ids, "multi_modal_data": data, "mm_processor_kwargs": {}}
    with pytest.raises(typecase.RequestError, match=r"2 image .* 1 image"):
        adapter.prompt_ids(ids, {"image": ["a"], "video": "v"})


def test_adapters_from_a_checkpoint():
    class Config:
        model_type = "kimi_k3"
        media_placeholder_token_id = PAD

    with pytest.raises(typecase.RequestError):
        typecase.sglang.Adapter.from_config(Config()).prompt_ids([PAD])
    ids = [PAD]
    assert typecase.sglang.Adapter.from_config({"model_type": "llama"}).prompt_ids(ids) is ids

    class Vocabulary:
        def convert_tokens_to_ids(self, token):
            return {"<|media_pad|>": 5}.get(token)

    with pytest.raises(typecase.ModelError, match="media_placeholder_token_id"):
        typecase.sglang.Adapter.from_config({"model_type": "kimi_k3"})
    adapter = typecase.sglang.Adapter.from_config({"model_type": "kimi_k3"}, Vocabulary())
    assert adapter.prompt_ids([5], image_data="a") == [5]


def test_tokens_of_this_package(adapter):
    tokens = typecase.Tokens(memoryview(array.array("I", [1, PAD, 2]).tobytes()).cast("I"))
    assert adapter.prompt_ids(tokens, {"image": "a"}).tolist() == [1, 27, 91, 74, 2]
    assert adapter.tokens_prompt(tokens) == {"prompt_token_ids": [1, PAD, 2]}
    assert adapter.prompt_ids((1, PAD), {"image": "a"}).tolist() == [1, 27, 91, 74]
    part = tokens.ids[1:]
    assert adapter.prompt_ids(part, {"image": "a"}).tolist() == [27, 91, 74, 2]
    assert adapter.prompt_ids(tokens.ids[::-1], {"image": "a"}).tolist() == [2, 27, 91, 74, 1]


def test_adapters_and_errors_pickle(adapter):
    adapter = pickle.loads(pickle.dumps(typecase.vllm.VllmKimiK3(PAD, [1, 2])))
    assert adapter.prompt_ids([PAD], images=1) == [1, 2]
    canonical = pickle.loads(pickle.dumps(typecase.sglang.Adapter({"image": PAD})))
    with pytest.raises(typecase.RequestError) as caught:
        canonical.prompt_ids([1], image_data="a")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.kind, copy.path) == (str(caught.value), "media_count", "")


@pytest.mark.parametrize("ids", ["abc", b"abc", 7, None, [1.5], [-1], [2**32], {"a": 1}, array.array("b", [1]), array.array("q", [-1])])
def test_what_is_no_list_of_ids_is_an_error(adapter, ids):
    with pytest.raises((TypeError, ValueError, OverflowError)):
        adapter.prompt_ids(ids, {"image": "a"})
