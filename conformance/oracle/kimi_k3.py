"""Records what Moonshot's Kimi K3 encoder, as adapted in mlx-vlm, gives for conversations.

    pip install --no-deps mlx-vlm==0.7.10          # its encoder needs nothing else
    python kimi_k3.py ../cases/kimi_k3.jsonl > ../golden/kimi_k3.jsonl
    python kimi_k3.py --random 5000 --seed 1 > /tmp/kimi_k3_random.jsonl

A case is {"id", "input"}; a line of the output has `segments` (pairs of text and whether it is control) or `error` as
well. The first line says how the file was made.
"""
import argparse, importlib.metadata, importlib.util, json, random, sys

PACKAGE, VERSION = "mlx-vlm", "0.7.10"


def load_encoder():
    found = importlib.metadata.version(PACKAGE)
    if found != VERSION:
        sys.exit(f"{PACKAGE} is {found}; the goldens are of {VERSION}")
    # The module alone: its package imports a GPU framework.
    path = next(f for f in importlib.metadata.files(PACKAGE) if str(f).endswith("kimi_k3/encoding_k3.py")).locate()
    spec = importlib.util.spec_from_file_location("encoding_k3", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["encoding_k3"] = module
    spec.loader.exec_module(module)
    return module


def run(encoder, case):
    given = case["input"]
    kwargs = dict(given.get("kwargs") or {})
    if given.get("entry") == "apply_chat_template":
        kwargs.setdefault("thinking_effort", "max")
    for name in ("add_generation_prompt", "thinking", "image_prompts"):
        if name in given:
            kwargs[name] = given[name]
    try:
        segments = encoder.build_chat_segments(given["messages"], tools=given.get("tools"), **kwargs)
    except Exception as err:  # which one does not matter: only that it refuses
        return {**case, "error": {"type": type(err).__name__, "message": str(err)[:200]}}
    return {**case, "segments": [[s.text, s.allow_special] for s in segments]}


# ---- random cases: mostly valid conversations, with every kind of fault sprinkled in

SCRAPS = ["", " ", "\n", "a", "Hello, world.", "é", "日本語", "😀", "\u200b", "\x1c", "\u3000", "&", '"', "<", "'", "\\", "{}", "[1]",
          "<|open|>", "<|close|>", "<|sep|>", "<|end_of_msg|>", "<|media_pad|>", "<|kimi_image_placeholder|>", "<|media_begin|>",
          "message role=\"user\"", "&amp;", "f:0", "\u0301", "\u00ad", "\u2028", "\x7f", "\t", "\r\n", "\ufeff", "\U000e0001", "1.0"]


class Generator:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.oddity = 1

    def text(self):
        return "".join(self.r.choice(SCRAPS) for _ in range(self.r.randint(0, 4)))

    def word(self):
        return self.r.choice(["f", "g", "h", "get_weather", "a b", "x\"y&z", self.text()])

    def number(self):
        r = self.r
        return r.choice([0, 1, -7, 2**63, -(2**63), 10**30, 1.0, -0.0, 1e16, 1e-7, 0.1, 123456789.123, 5e-324, 1.7976931348623157e308,
                         r.randint(-10**6, 10**6), r.uniform(-1e3, 1e3), r.random() * 10 ** r.randint(-20, 20)])

    def value(self, depth=0):
        kind = self.r.randint(0, 7 if depth < 3 else 4)
        if kind == 0: return None
        if kind == 1: return self.r.random() < .5
        if kind == 2: return self.number()
        if kind in (3, 4): return self.text()
        if kind == 5: return [self.value(depth + 1) for _ in range(self.r.randint(0, 3))]
        return self.object(depth + 1)

    def object(self, depth=0):
        return {self.word() if self.r.random() < .7 else self.text(): self.value(depth) for _ in range(self.r.randint(0, 4))}

    def odd(self, good, chance=.01):
        """`good()`, or now and then anything at all."""
        return self.value() if self.r.random() < chance * self.oddity else good()

    def part(self):
        r = self.r
        if r.random() < .25:
            return {"type": r.choice(["image", "image_url"]), "image_url": {"url": "u"}}
        part = {"type": self.odd(lambda: r.choice(["text", "input_text", "refusal", "x"])), "text": self.odd(self.text)}
        if r.random() < .02 * self.oddity: part.pop(r.choice(["type", "text"]))
        return part

    def content(self):
        if self.r.random() < .55: return self.text()
        if self.r.random() < .1: return None
        return [self.odd(self.part, .02) for _ in range(self.r.randint(0, 4))]

    def arguments(self):
        r = self.r
        kind = r.randint(0, 9)
        if kind < 3: return self.object()
        if self.r.random() < .05 * self.oddity: return r.choice(["[1]", "5", 5, [1], True])
        if kind < 7: return json.dumps(self.object(), ensure_ascii=r.random() < .5, indent=r.choice([None, None, 1]))
        return r.choice([None, "", " \n", "not json", "{\"a\": 1", "{\"a\": 1}x", "{\"a\": 1, \"a\": [NaN, -Infinity, 1e400, -0, 1E5]}",
                         "{\"a\": \"\\u00e9\\ud83d\\ude00\\/\"}", "{'a': 1}", "{\"a\": 01}", "{\"a\": \"\t\"}", "\ufeff{}", self.text(), " {} "])

    def call(self):
        r = self.r
        function = {"name": self.odd(self.word), "arguments": self.odd(self.arguments)}
        if r.random() < .1: function.pop("arguments")
        if r.random() < .01 * self.oddity: function.pop("name")
        call = {"type": "function", "function": self.odd(lambda: function, .02)} if r.random() < .9 else function
        if r.random() < .8: call["id"] = self.call_id()
        return call

    def call_id(self):
        return self.odd(lambda: self.r.choice(["c1", "c2", "c3", 1, "1", "f:0", "g:1"]), .05)

    def message(self):
        r = self.r
        role = r.choices(["user", "assistant", "tool", "system", "developer", "critic"], [5, 7, 7, 2, 1, 1])[0]
        message = {"role": self.odd(lambda: role, .01), "content": self.odd(self.content, .02)}
        if r.random() < .05: message.pop("content")
        if r.random() < .2: message["name"] = self.odd(self.word, .2)
        if role == "assistant" and r.random() < .6 or r.random() < .02:
            message["tool_calls"] = self.odd(lambda: [self.odd(self.call, .02) for _ in range(r.randint(0, 4))], .03)
        if r.random() < .3: message[r.choice(["reasoning_content", "reasoning", "thinking"])] = self.odd(self.text, .15)
        if r.random() < .1: message["reasoning"] = self.odd(self.text, .15)
        if role == "tool":
            if r.random() < .75: message["tool_call_id"] = self.call_id()
            if r.random() < .1: message["id"] = self.call_id()
            if r.random() < .7: message[r.choice(["tool", "name"])] = self.odd(self.word, .1)
        if role == "system" and r.random() < .3 or r.random() < .02:
            message["tools"] = self.odd(lambda: [self.object() for _ in range(r.randint(0, 3))], .2)
        if r.random() < .05: message["partial"] = True
        return message

    def case(self, number):
        r = self.r
        self.oddity = r.choice([0, 0, 0, 1, 3])
        given = {"messages": [self.odd(self.message, .01) for _ in range(r.randint(0, 7))]}
        if r.random() < .5: given["tools"] = self.odd(lambda: [self.object() for _ in range(r.randint(0, 3))], .1)
        if r.random() < .3: given["add_generation_prompt"] = r.random() < .5
        if r.random() < .5: given["thinking"] = self.odd(lambda: r.random() < .6, .1)
        if r.random() < .5: given["entry"] = "apply_chat_template"
        if r.random() < .3:
            given["image_prompts"] = [r.choice(["<|media_pad|>", "A", ""]) for _ in range(self.image_count(given))]
        kwargs = {}
        if r.random() < .3: kwargs["thinking_effort"] = self.odd(lambda: r.choice(["low", "high", "max", None]), .1)
        if r.random() < .3: kwargs["tool_choice"] = self.odd(lambda: r.choice(["auto", "none", "required", None]), .2)
        if r.random() < .3: kwargs["response_format"] = self.odd(self.response_format, .1)
        if r.random() < .1: kwargs["response_schema"] = self.value()
        if kwargs: given["kwargs"] = kwargs
        return {"id": f"random/{number}", "input": given}

    def image_count(self, given):
        """As many as there are to fill, most of the time."""
        def count(value):
            if isinstance(value, str): return value.count("<|kimi_image_placeholder|>")
            if isinstance(value, dict): return (value.get("type") in ("image", "image_url")) + sum(map(count, value.values()))
            return sum(map(count, value)) if isinstance(value, list) else 0
        return count(given["messages"]) if self.r.random() < .9 else self.r.randint(0, 2)

    def response_format(self):
        kind = self.r.choice(["json_schema", "json_schema", "json_object", "text"])
        form = {"type": kind}
        if self.r.random() < .7:
            form["json_schema"] = self.odd(lambda: self.r.choice([{"schema": self.object()}, {"json_schema": self.value()}, self.object()]), .2)
        return form


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", nargs="?", help="a file of cases, one JSON object per line")
    parser.add_argument("--random", type=int, default=0, help="make so many cases instead")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    encoder = load_encoder()
    if args.random:
        generator = Generator(args.seed)
        cases = (generator.case(number) for number in range(args.random))
        command = f"kimi_k3.py --random {args.random} --seed {args.seed}"
    else:
        cases = map(json.loads, open(args.cases, encoding="utf-8"))
        command = "kimi_k3.py ../cases/kimi_k3.jsonl"
    print(json.dumps({"meta": {"reference": f"{PACKAGE} {VERSION}, models/kimi_k3/encoding_k3.py", "command": command}}))
    for case in cases:
        # Through JSON first: what the encoder gets is what the file says.
        print(json.dumps(run(encoder, json.loads(json.dumps(case))), ensure_ascii=False))


main()
