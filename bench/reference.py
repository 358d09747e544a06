#!/usr/bin/env python3
"""Record what Python makes of every template and workload, and time it.

    python reference.py record --templates DIR [--workloads workloads] [--out reference]
    python reference.py time   --templates DIR [--workloads workloads]

`record` renders through `apply_chat_template` of transformers and writes OUT/TEMPLATE/WORKLOAD.txt, or .error where the
template refuses the conversation, and OUT/manifest.json. Templates print the current date, so a record is good for the
day it was made; the benchmarks refuse an older one.

`time` prints one JSON line per template and workload with the median seconds of in-process renders:
  jinja2        the compiled template's `render`, from the parsed request
  transformers  from request JSON: `json.loads`, arguments decoded where the template needs it, `apply_chat_template`
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import statistics
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
SPECIAL_TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
WORKLOADS = ["w1", "w2", "w3", "w4"]

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


def tokenizer():
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from transformers import PreTrainedTokenizerFast

    vocab = {token: i for i, token in enumerate(SPECIAL_TOKENS.values())}
    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer(WordLevel(vocab, unk_token="<unk>")), **SPECIAL_TOKENS)


def parse(text: str, arguments: str) -> dict:
    request = json.loads(text)
    if arguments == "object":
        for message in request["messages"]:
            for call in message.get("tool_calls") or []:
                call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return request


def render(tok, source: str, request: dict) -> str:
    return tok.apply_chat_template(
        request["messages"],
        tools=request.get("tools"),
        chat_template=source,
        add_generation_prompt=True,
        tokenize=False,
    )


def record(args, table, sources, workloads) -> None:
    import jinja2
    import transformers

    tok = tokenizer()
    for entry in table:
        directory = args.out / entry["name"]
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in workloads.items():
            good, bad = directory / f"{name}.txt", directory / f"{name}.error"
            good.unlink(missing_ok=True)
            bad.unlink(missing_ok=True)
            try:
                rendered = render(tok, sources[entry["name"]], parse(text, entry["arguments"]))
                good.write_text(rendered, encoding="utf-8", newline="")
            except Exception as error:  # the refusal is the result
                bad.write_text(f"{type(error).__name__}: {error}"[:300], encoding="utf-8")
    manifest = {
        "date": datetime.date.today().isoformat(),
        "transformers": transformers.__version__,
        "jinja2": jinja2.__version__,
        "python": ".".join(map(str, sys.version_info[:3])),
    }
    (args.out / "manifest.json").write_text(json.dumps(manifest) + "\n")


def median_seconds(run, budget: float) -> float:
    run()
    once = time.perf_counter()
    run()
    once = time.perf_counter() - once
    batch = max(1, int(0.002 / max(once, 1e-7)))
    samples, stop = [], time.perf_counter() + budget
    while len(samples) < 5 or time.perf_counter() < stop:
        start = time.perf_counter()
        for _ in range(batch):
            run()
        samples.append((time.perf_counter() - start) / batch)
    return statistics.median(samples)


def timed(args, table, sources, workloads) -> None:
    from transformers.utils.chat_template_utils import _compile_jinja_template

    tok = tokenizer()
    for entry in table:
        source = sources[entry["name"]]
        compiled = _compile_jinja_template(source)
        for name, text in workloads.items():
            request = parse(text, entry["arguments"])
            context = dict(
                messages=request["messages"], tools=request.get("tools"), documents=None, add_generation_prompt=True, **SPECIAL_TOKENS
            )
            try:
                compiled.render(**context)
            except Exception:
                continue
            bare = median_seconds(lambda: compiled.render(**context), args.seconds)
            whole = median_seconds(lambda: render(tok, source, parse(text, entry["arguments"])), args.seconds)
            line = {"template": entry["name"], "workload": name, "jinja2": bare, "transformers": whole}
            print(json.dumps(line), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["record", "time"])
    parser.add_argument("--templates", type=Path, default=os.environ.get("TYPECASE_TEMPLATES"), help="directory of *.jinja")
    parser.add_argument("--workloads", type=Path, default=HERE / "workloads")
    parser.add_argument("--out", type=Path, default=HERE / "reference")
    parser.add_argument("--seconds", type=float, default=0.2, help="time spent on each measurement")
    parser.add_argument("--only", default="", help="templates whose name contains this")
    args = parser.parse_args()
    if args.templates is None:
        parser.error("--templates or TYPECASE_TEMPLATES is needed")
    table = [t for t in json.loads((HERE / "templates.json").read_text()) if args.only in t["name"]]
    sources = {t["name"]: (Path(args.templates) / t["file"]).read_bytes().decode("utf-8") for t in table}
    workloads = {w: (args.workloads / f"{w}.json").read_text(encoding="utf-8") for w in WORKLOADS}
    (record if args.command == "record" else timed)(args, table, sources, workloads)


if __name__ == "__main__":
    main()
