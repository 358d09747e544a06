#!/usr/bin/env python3
"""Ids as Python's tiktoken gives them, for a model directory with a tiktoken.model of the Kimi family.

    tiktoken_ids.py MODEL_DIR < cases.jsonl > ids.jsonl
    tiktoken_ids.py MODEL_DIR --golden > conformance/golden/tiktoken_demo.jsonl

A case is `{"text", "special"}`: whether the special tokens are looked for (all of them) or none. The answer is the list of
ids. `--golden` writes the cases below with their ids, under a first line that names the reference.

What Kimi's tokenizer adds to tiktoken: special ids are the 256 after the ranks, and text is cut every 400,000 code
points and within runs of more than 25,000 that are all white space or all not (`str.isspace`).
"""

import json
import pathlib
import sys

import tiktoken
from tiktoken.load import load_tiktoken_bpe

PATTERN = "|".join(
    [
        r"""[\p{Han}]+""",
        r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
        r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
        r"""\p{N}{1,3}""",
        r""" ?[^\s\p{L}\p{N}]+[\r\n]*""",
        r"""\s*[\r\n]+""",
        r"""\s+(?!\S)""",
        r"""\s+""",
    ]
)
MAX_POINTS = 400_000
MAX_RUN = 25_000


def load(directory):
    ranks = load_tiktoken_bpe(str(directory / "tiktoken.model"))
    config = json.loads((directory / "tokenizer_config.json").read_text())
    named = {int(id): token["content"] for id, token in config["added_tokens_decoder"].items()}
    window = range(len(ranks), len(ranks) + 256)
    special = {named.get(id, f"<|reserved_token_{id}|>"): id for id in window}
    return tiktoken.Encoding("kimi", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens=special)


def pieces(text):
    for begin in range(0, len(text), MAX_POINTS):
        block = text[begin : begin + MAX_POINTS]
        start, run, kind = 0, 0, block[0].isspace()
        for i, c in enumerate(block):
            run = run + 1 if c.isspace() == kind else 1
            kind = c.isspace()
            if run > MAX_RUN:
                yield block[start:i]
                start, run = i, 1
        yield block[start:]


def encode(encoding, text, special):
    ids = []
    for piece in pieces(text):
        ids += encoding.encode(piece, allowed_special="all" if special else set(), disallowed_special=())
    return ids


GOLDEN = [
    (text, special)
    for text in [
        "",
        "Hello, how are you?",
        "<|open|>message role=\"user\"<|sep|>Hi<|close|>message<|sep|><|end_of_msg|>",
        "<|media_pad|>",
        "<|media_begin|>image<|media_content|><|media_pad|><|media_end|>",
        "<|reserved_token_2824|><|reserved_token_163600|>[BOS][EOS][UNK][PAD]",
        "<|open|",
        "I'm sure they'LL say it's HE'D've; don'T, ſ's 'ſ K'S",
        "ABCdef GHIjkl mnoPQR aǅb ǅǆ ᾈα ʰʰ",
        "12 123 1234 12345678 ١٢٣٤ ²³¹ Ⅷ ½¾",
        "汉字和English混排。日本語のテキスト、한국어 텍스트",
        "々〆〇㐀𠀀豈 ⺀⼀〡",
        "a\u0301e\u0301 n\u0303 क्षि ก็ x\u20dd\ufe0f",
        "  two  spaces   three\n\n\n  newline \r\n\t tab\t\t \u00a0 \u3000 \u2028 \u0085 x",
        "trailing   ",
        "\n",
        " \n \n ",
        "\x00\x01\x1c\x1d\x1e\x1f\x7f",
        "a\x1c\x1c b\u200b\u200d\ufeff c",
        "👩‍👩‍👧 🇫🇷 👍🏽 😀😃",
        "!?.,;:…—–\r\n\r\n***\n///\n",
        "path/to/file.rs:12:34 https://example.org/?q=a&b=c#d",
        '{"city": "Paris", "n": [1, 2.5e-7, true, null], "s": "\\u00e9\\n"}',
        "fn main() {\n    println!(\"{}\", x);\n}\n",
        "مرحبا שלום नमस्ते สวัสดี ქართული",
        "\U0010fffd\ue000\ufffd",
    ]
    for special in [False, True]
]


def main():
    directory = pathlib.Path(sys.argv[1])
    encoding = load(directory)
    if "--golden" in sys.argv:
        head = {"reference": f"tiktoken {tiktoken.__version__}", "command": "conformance/oracle/tiktoken_ids.py MODEL_DIR --golden", "model": directory.name}
        print(json.dumps(head))
        for text, special in GOLDEN:
            print(json.dumps({"text": text, "special": special, "ids": encode(encoding, text, special)}))
        return
    for line in sys.stdin:
        case = json.loads(line)
        print(json.dumps(encode(encoding, case["text"], case["special"])), flush=True)


main()
