#!/usr/bin/env python3
"""Writes what Python gives into the cases of tests/language/*.md.

    python3 scripts/language_cases.py [--check] [FILE ...]

Needs jinja2 3.1.6. A case is a heading, a block `jinja` (one template) or `jinja lines` (each line an expression or
template of its own), an optional block `json` (the variables), and the block `text jinja2=3.1.6`, which this script
fills in: the text; for `jinja lines` one line each, escaped as in JSON. An error is `!TypeError: message`.
With --check nothing is written, and the exit status tells whether anything would change.
"""

import argparse
import json
import re
import sys
from pathlib import Path

import jinja2
import jinja2.ext
import jinja2.sandbox

HERE = Path(__file__).resolve().parent
VERSION = "3.1.6"
BLOCK = re.compile(r"^```(.*)\n((?:(?!```).*\n)*)```$", re.M)


def environment() -> jinja2.sandbox.ImmutableSandboxedEnvironment:
    """The environment that transformers gives chat templates."""
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols]
    )

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    class Dict:
        def __call__(self, *args, **kwargs):
            return dict(*args, **kwargs)

        def fromkeys(self, *args, **kwargs):
            return dict.fromkeys(*args, **kwargs)

    class Namespace(jinja2.utils.Namespace):
        def __init__(*args, **kwargs):
            self, args = args[0], args[1:]
            attributes = dict(*args, **kwargs)
            for name in attributes:
                Namespace.check(name)
            jinja2.utils.Namespace.__init__(self, attributes)

        def __setitem__(self, name, value):
            Namespace.check(name)
            jinja2.utils.Namespace.__setitem__(self, name, value)

        @staticmethod
        def check(name):
            if isinstance(name, str) and name.startswith("_"):
                raise jinja2.exceptions.SecurityError(name)

    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["dict"] = Dict()
    env.globals["namespace"] = Namespace
    return env


def render(env, source: str, variables: dict) -> str:
    try:
        return env.from_string(source).render(**variables)
    except Exception as exc:
        return f"!{type(exc).__name__}: {exc}"


def as_template(line: str) -> str:
    return line if "{{" in line or "{%" in line else "{{ " + line + " }}"


def outcome(env, kind: str, source: str, variables: dict) -> str:
    if kind == "jinja lines":
        lines = (render(env, as_template(line), variables) for line in source.splitlines())
        return "".join(json.dumps(line, ensure_ascii=False)[1:-1] + "\n" for line in lines)
    return render(env, source.removesuffix("\n"), variables) + "\n"


def fill(env, text: str) -> str:
    out, at = [], 0
    kind, source, variables = None, "", {}
    for match in BLOCK.finditer(text):
        info, body = match.group(1), match.group(2)
        if info in ("jinja", "jinja lines"):
            kind, source, variables = info, body, {}
        elif info == "json":
            variables = json.loads(body)
        elif info.startswith("text"):
            out.append(text[at : match.start()])
            out.append(f"```text jinja2={VERSION}\n{outcome(env, kind, source, variables)}```")
            at = match.end()
    out.append(text[at:])
    return "".join(out)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("files", nargs="*", type=Path)
    args = parser.parse_args()
    assert jinja2.__version__ == VERSION, f"jinja2 {VERSION} is wanted"
    env = environment()
    changed = 0
    for path in args.files or sorted((HERE.parent / "tests/language").glob("*.md")):
        old = path.read_text(encoding="utf-8")
        new = fill(env, old)
        if new != old:
            changed += 1
            print(f"{path}: {'differs' if args.check else 'written'}", file=sys.stderr)
            if not args.check:
                path.write_text(new, encoding="utf-8")
    return 1 if changed and args.check else 0


if __name__ == "__main__":
    sys.exit(main())
