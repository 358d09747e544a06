#!/usr/bin/env python3
"""Ids as transformers gives them, for a directory with a tokenizer.json (and its tokenizer_config.json).

    tokenizer_ids.py DIRECTORY < cases.jsonl
    tokenizer_ids.py DIRECTORY --rendered templates.jsonl.gz --sample N

A case is `{"text"}`. Each answer is `{"text", "ids", "plain", "decoded", "offsets"}`: the ids of `encode` without special
tokens around; those without any added token; the text of the former again; and where in the text (code points) each is.
`--rendered` takes the texts from recorded results of chat templates, a sample spread evenly over them.
"""

import argparse
import gzip
import json
import os
import pathlib
import sys

# Everything needed is in the directory; asking the hub about it would only wait for the network.
os.environ["HF_HUB_OFFLINE"] = "1"

import transformers
from plain import without_added_tokens

parser = argparse.ArgumentParser()
parser.add_argument("directory", type=pathlib.Path)
parser.add_argument("--rendered", type=pathlib.Path)
parser.add_argument("--sample", type=int, default=1000)


def rendered(path, sample):
    with gzip.open(path, "rt") as lines:
        texts = [text for text in (json.loads(line).get("text") for line in lines) if text]
    step = max(1, len(texts) // sample)
    return texts[::step]


def main():
    args = parser.parse_args()
    tokenizer = transformers.AutoTokenizer.from_pretrained(args.directory)
    plain = without_added_tokens(tokenizer)
    texts = rendered(args.rendered, args.sample) if args.rendered else (json.loads(line)["text"] for line in sys.stdin)
    for text in texts:
        encoded = tokenizer.backend_tokenizer.encode(text, add_special_tokens=False)
        answer = {
            "text": text,
            "ids": encoded.ids,
            "plain": plain.encode(text, add_special_tokens=False).ids,
            "decoded": tokenizer.backend_tokenizer.decode(encoded.ids, skip_special_tokens=False),
            "offsets": encoded.offsets,
        }
        print(json.dumps(answer))


main()
