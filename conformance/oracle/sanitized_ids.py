#!/usr/bin/env python3
"""Ids of chats as transformers gives them with `sanitize_control_tokens=True`.

    sanitized_ids.py DIRECTORY TEMPLATE < requests.jsonl

A request is `{"messages", "tools"}`. Each answer is `{"ids"}`, or `{"error"}` where transformers refuses.
"""

import json
import os
import pathlib
import sys

os.environ["HF_HUB_OFFLINE"] = "1"

import transformers


def main():
    directory, template = map(pathlib.Path, sys.argv[1:])
    tokenizer = transformers.AutoTokenizer.from_pretrained(directory)
    tokenizer.chat_template = template.read_text()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            ids = tokenizer.apply_chat_template(
                request["messages"],
                tools=request.get("tools"),
                add_generation_prompt=True,
                return_dict=False,
                sanitize_control_tokens=True,
            )
            print(json.dumps({"ids": ids}))
        except Exception as err:
            print(json.dumps({"error": str(err)}))


main()
