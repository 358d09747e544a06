#!/usr/bin/env python3
"""Ids of a tekken.json without special tokens, as mistral-common makes them with tiktoken.

    tekken_ids.py TEKKEN.json < cases.jsonl > ids.jsonl

A case is `{"text"}`; the answer is the list of ids.
"""

import base64
import json
import sys

import tiktoken


def main():
    description = json.load(open(sys.argv[1]))
    config = description["config"]
    special = config["default_num_special_tokens"]
    ranks = {
        base64.b64decode(token["token_bytes"]): token["rank"]
        for token in description["vocab"][: config["default_vocab_size"] - special]
    }
    encoding = tiktoken.Encoding("tekken", pat_str=config["pattern"], mergeable_ranks=ranks, special_tokens={})
    for line in sys.stdin:
        text = json.loads(line)["text"]
        print(json.dumps([id + special for id in encoding.encode(text)]))


main()
