"""A tokenizer of transformers without what stands around it."""

import json

import tokenizers


def without_added_tokens(tokenizer):
    """The backend of `tokenizer`, for which no added token is one: spellings of them are text."""
    description = json.loads(tokenizer.backend_tokenizer.to_str())
    for key in ["truncation", "padding", "post_processor"]:
        description[key] = None
    description["added_tokens"] = []
    return tokenizers.Tokenizer.from_str(json.dumps(description))
