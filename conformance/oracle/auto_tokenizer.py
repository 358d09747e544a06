#!/usr/bin/env python3
"""What `AutoTokenizer` makes of model directories.

    auto_tokenizer.py < cases.jsonl

A case is `{"directory", "texts"}`, its answer `{"class", "names", "added", "ids", "plain", "decoded"}`: the class that was
picked, the named tokens, the added tokens with their flags, and for each text its ids, those without any added token, and
the text of the former again.
"""

import json
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"

import transformers
from plain import without_added_tokens

transformers.logging.set_verbosity_error()


def answer(case):
    tokenizer = transformers.AutoTokenizer.from_pretrained(case["directory"])
    backend = tokenizer.backend_tokenizer
    plain = without_added_tokens(tokenizer)
    encoded = [backend.encode(text, add_special_tokens=False).ids for text in case["texts"]]
    return {
        "class": type(tokenizer).__name__,
        "names": tokenizer.special_tokens_map,
        "added": [
            [id, token.content, token.special, token.lstrip, token.rstrip, token.single_word, token.normalized]
            for id, token in sorted(tokenizer.added_tokens_decoder.items())
        ],
        "ids": encoded,
        "plain": [plain.encode(text, add_special_tokens=False).ids for text in case["texts"]],
        "decoded": [backend.decode(ids, skip_special_tokens=False) for ids in encoded],
    }


# What the libraries print is no answer.
out = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
for line in sys.stdin:
    case = json.loads(line)
    try:
        result = answer(case)
    except Exception as error:
        result = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(result), file=out)
