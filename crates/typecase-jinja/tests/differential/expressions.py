#!/usr/bin/env python3
"""Random expressions over random values, with what Python makes of them.

    python3 expressions.py --seed N --count N

Writes one JSON object per line: {"template", "variables", "python"}; an error is "!TypeError: message" in "python".
Outcomes that hold a memory address, and expressions that Python takes too long for, are left out.
"""

import argparse
import json
import random
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "scripts"))
from language_cases import environment, render  # noqa: E402

WORDS = ["", "a", "A", "ab", "hello world", "Hello World", "  x ", "ñandú", "ß", "ΑΣ", "ǆ", "<b>&'\"", "1", "-12", "3.5",
         "0x1f", " 42\n", "a,b,,c", "a\nb\r\nc", "日本語", "😀x", "\x1f\x1c", "%s", "{}", "user", "x_y", "İi", "ﬁn", "١٢", "e\u0301",
         "a.b", "/p q?", "\u2028z", "\x00\x7f", "\xa0nb", "tab\there", "well-known e-mail -- a--b x-y-z it's-so", "it's", 'say "hi"', "\\", "0", "True", "nan", "1e3"]
INTS = [0, 1, 2, 3, 5, 7, 10, 64, 100, 255, -1, -2, -7, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), 2**63, 10**20, -(10**25)]
FLOATS = [0.0, -0.0, 0.5, 1.0, 1.5, 2.5, -2.5, 0.1, 1e16, 1e-5, 123456.789, 1e22, 1e300, -7.25, 2.675, 3.0]
NAMES = ["s", "t", "n", "f", "xs", "d", "ds", "b", "none_value", "words", "missing", "m"]
FILTERS = ["abs", "capitalize", "center(%i)", "count", "default(%e)", "default(%e, true)", "dictsort", "dictsort(true)",
           "dictsort(by='value')", "dictsort(reverse=true)", "e", "escape", "filesizeformat", "first", "float", "forceescape",
           "format(%e)", "format(%e, %e)", "groupby('a')", "groupby(0)", "indent", "indent(%i)", "indent(first=true)", "indent(2, true, true)", "int",
           "int(%e)", "int(0, 16)", "items|list", "join", "join(%s)", "join(%s, 'a')", "join(attribute=0)", "last", "length",
           "list", "lower", "map('upper')|list", "map('string')|list", "map(attribute='a')|list", "map(attribute='a', default=%e)|list",
           "map('default', %e)|list", "map('int')|list", "map('length')|list", "max", "min", "max(attribute='a')", "reject('odd')|list",
           "reject|list", "rejectattr('a')|list", "replace(%s, %s)", "replace(%s, %s, %i)", "reverse|list", "round", "round(%i)", "round(%i, 'ceil')", "round(%i, 'floor')",
           "safe", "select|list", "select('string')|list", "select('eq', %e)|list", "select('in', %e)|list", "select('gt', %e)|list", "selectattr('a')|list", "selectattr('a', 'eq', %e)|list",
           "selectattr('a.b', 'defined')|list", "sort", "sort(true)", "sort(case_sensitive=true)", "sort(attribute='a')", "string", "striptags", "sum",
           "sum(attribute='a')", "sum(start=%e)", "title", "tojson", "tojson(indent=2)", "tojson(true)", "tojson(sort_keys=true)", "tojson(separators=(',', ':'))", "tojson(indent=%s)",
           "trim", "trim(%s)", "truncate(%i)", "truncate(5, true)", "truncate(6, false, %s, 0)", "unique|list", "unique(true)|list", "upper", "urlencode", "wordcount",
           "xmlattr", "batch(2)|list", "batch(3, %e)|list", "slice(2)|list", "slice(3, %e)|list", "attr(%s)", "wordwrap(%i)", "wordwrap(3, false)", "wordwrap(5, true, %s)", "wordwrap(4, true, none, false)", "pprint", "pprint"]
TESTS = ["boolean", "callable", "defined", "divisibleby(%e)", "eq(%e)", "escaped", "even", "false", "filter", "float", "ge(%e)", "gt(%e)",
         "in(%e)", "integer", "iterable", "le(%e)", "lower", "lt(%e)", "mapping", "ne(%e)", "none", "number", "odd", "sequence",
         "string", "test", "true", "undefined", "upper"]
METHODS = ["capitalize()", "casefold()", "center(%i)", "center(%i, %s)", "count(%s)", "count(%s, %i)", "endswith(%s)", "endswith((%s, %s))", "expandtabs()",
           "expandtabs(%i)", "find(%s)", "find(%s, %i)", "find(%s, %i, %i)", "format(%e)", "format(%e, a=%e)", "index(%s)", "isalnum()", "isalpha()", "isascii()", "isdecimal()",
           "isdigit()", "isidentifier()", "islower()", "isnumeric()", "isprintable()", "isspace()", "istitle()", "isupper()", "join(%e)",
           "ljust(%i)", "ljust(%i, %s)", "lower()", "lstrip()", "lstrip(%s)", "partition(%s)", "removeprefix(%s)", "removesuffix(%s)",
           "replace(%s, %s)", "replace(%s, %s, %i)", "rfind(%s)", "rindex(%s)", "rjust(%i)", "rpartition(%s)", "rsplit()", "rsplit(%s)",
           "rsplit(%s, %i)", "rsplit(none, %i)", "rstrip()", "rstrip(%s)", "split()", "split(%s)", "split(%s, %i)", "split(none, %i)", "split(maxsplit=%i)",
           "splitlines()", "splitlines(true)", "startswith(%s)", "startswith(%s, %i)", "strip()", "strip(%s)", "swapcase()", "title()", "upper()",
           "zfill(%i)", "translate({97: %e})", "maketrans(%s, %s)"]
OTHER_METHODS = ["get(%s)", "get(%e)", "get(%s, %e)", "items()", "keys()", "values()", "copy()", "index(%e)", "count(%e)", "append(%e)", "pop()", "update(d)",
                 "bit_length()", "is_integer()", "as_integer_ratio()", "hex()", "a", "b", "real", "conjugate()", "fromkeys(%e)", "fromkeys(%e, %e)"]
SPECS = ["{}", "{:5}", "{:>5}", "{:^7}|", "{:05}", "{:+}", "{:,}", "{:_}", "{:.2f}", "{:.3}", "{:e}", "{:g}", "{:%}", "{:d}", "{:x}", "{:#x}", "{:s}",
         "{!r}", "{!s:>4}", "{!a}", "{0[a]}", "{0.a}", "{0}", "{a}", "{:{}}", "{0[0]}", "{:c}", "{:b}", "{:10,.1f}", "{:*<6}", "{:=+8}", "{:n}", "{{}}", "{:.0f}", "{:#.3g}", "{:08.3f}"]
PERCENTS = ["%s", "%d", "%5s|", "%-5s|", "%05d", "%+d", "%x", "%#x", "%o", "%e", "%.2f", "%g", "%r", "%a", "%c", "%.1s", "%%", "%(a)s", "%i", "%8.3f", "% d", "%X", "%.3d", "%#o",
            "%s %s", "%5.1f", "%G", "%.0f", "%-8d|", "%+.1e"]
BINARY = ["+", "+", "-", "*", "/", "//", "%", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or", "~", "~"]


class Generator:
    def __init__(self, rng: random.Random):
        self.rng = rng

    def text(self) -> str:
        # Escapes of surrogate pairs are not written: Jinja makes two halves of them, which are no text.
        return json.dumps(self.rng.choice(WORDS), ensure_ascii=False).replace("\x7f", "\\x7f").replace("\u2028", "\\u2028")

    def value(self, depth: int = 2):
        r = self.rng
        kind = r.randrange(10 if depth else 7)
        if kind < 3:
            return r.choice(WORDS)
        if kind < 5:
            return r.choice(INTS)
        if kind == 5:
            return r.choice(FLOATS)
        if kind == 6:
            return r.choice([None, True, False])
        if kind == 7:
            return [self.value(depth - 1) for _ in range(r.randrange(4))]
        if kind == 8:
            return [{"a": self.value(depth - 1), "b": self.value(0)} for _ in range(r.randrange(4))]
        return {r.choice(["a", "b", "B", "items", "x y", *WORDS[:6]]): self.value(depth - 1) for _ in range(r.randrange(4))}

    def variables(self) -> dict:
        r = self.rng
        return {
            "s": r.choice(WORDS), "t": r.choice(WORDS) + r.choice(WORDS), "n": r.choice(INTS), "f": r.choice(FLOATS),
            "xs": [self.value(1) for _ in range(r.randrange(5))], "d": {k: self.value(1) for k in r.sample(["a", "b", "C", "items", "c"], r.randrange(5))},
            "ds": [{"a": self.value(1), **({"b": 1} if r.random() < 0.5 else {})} for _ in range(r.randrange(4))],
            "b": r.choice([True, False]), "none_value": None, "words": [r.choice(WORDS) for _ in range(r.randrange(5))], "m": self.value(),
        }

    def fill(self, pattern: str, depth: int) -> str:
        out, i = "", 0
        while i < len(pattern):
            if pattern[i] == "%" and i + 1 < len(pattern) and pattern[i + 1] in "eis":
                out += {"e": lambda: self.expression(depth - 1), "i": self.small, "s": self.texty}[pattern[i + 1]]()
                i += 2
            else:
                out += pattern[i]
                i += 1
        return out

    def small(self) -> str:
        return str(self.rng.choice([0, 1, 2, 3, 5, 8, 12, -1, -2, -3, "none", "true", "s"] if self.rng.random() < 0.2 else [0, 1, 2, 3, 5, 8, 12, -1, -2]))

    def texty(self) -> str:
        return self.rng.choice(["s", "t", self.text(), self.text(), self.text()] if self.rng.random() < 0.95 else ["n", "none", "missing", "xs"])

    def leaf(self) -> str:
        r = self.rng
        kind = r.randrange(12)
        if kind < 6:
            return r.choice(NAMES)
        if kind < 8:
            return self.text()
        if kind == 8:
            value = r.choice(INTS)
            return f"({value})" if value < 0 else str(value)
        if kind == 9:
            return repr(abs(r.choice(FLOATS))).replace("e+", "e")
        return r.choice(["none", "true", "false", "[]", "{}", "()", "(1, 'a')", "[1, 2, 3]", "{'a': 1, 2: s}", "range(4)", "(s|safe)", "('<i>'|safe)"])

    def expression(self, depth: int) -> str:
        r = self.rng
        if depth <= 0:
            return self.leaf()
        kind = r.randrange(20)
        if kind < 5:
            return f"({self.expression(depth - 1)})|{self.fill(r.choice(FILTERS), depth)}"
        if kind < 8:
            receiver = r.choice(["s", "t", self.text(), "(s|safe)"]) if r.random() < 0.8 else f"({self.expression(depth - 1)})"
            return f"{receiver}.{self.fill(r.choice(METHODS), depth)}"
        if kind == 8:
            return f"({self.expression(depth - 1)}).{self.fill(r.choice(OTHER_METHODS), depth)}"
        if kind < 12:
            return f"({self.expression(depth - 1)} {r.choice(BINARY)} {self.expression(depth - 1)})"
        if kind == 12:
            return f"({self.expression(depth - 1)} ** {r.choice(['2', '3', '-1', '0.5', '0', 'b', '1.5'])})"
        if kind == 13:
            return f"(({self.expression(depth - 1)}) is {self.fill(r.choice(TESTS), depth)})"
        if kind == 14:
            parts = [r.choice(["", "", self.small()]) for _ in range(r.choice([2, 3]))]
            # Of a constant that has no slices, Jinja makes nothing while it compiles, and an error otherwise.
            return f"({r.choice(NAMES)}|default({self.expression(depth - 1)}))[{':'.join(parts)}]"
        if kind == 15:
            return f"({self.expression(depth - 1)})[{r.choice([self.small(), self.text(), self.leaf()])}]"
        if kind == 16:
            return f"(({json.dumps(''.join(r.choice(PERCENTS) for _ in range(r.randrange(1, 3))))}{r.choice(['', '', '|safe'])}) % ({self.expression(depth - 1)}{r.choice([',', '', '', ', ' + self.leaf()])}))"
        if kind == 17:
            spec = "".join(r.choice(SPECS) for _ in range(r.randrange(1, 3))).replace("{{", "{ {").replace("}}", "} }")
            return f"({json.dumps(spec)}{r.choice(['', '', '|safe'])}).format({self.expression(depth - 1)}, {self.leaf()}{r.choice(['', ', a=' + self.leaf()])})"
        if kind == 18:
            return f"(-{self.leaf()})" if r.random() < 0.5 else f"(not {self.expression(depth - 1)})"
        return r.choice([
            f"({self.expression(depth - 1)} if {self.expression(depth - 1)} else {self.expression(depth - 1)})",
            f"[{self.expression(depth - 1)}, {self.expression(depth - 1)}]",
            f"({self.expression(depth - 1)}, {self.expression(depth - 1)})",
            f"{{'a': {self.expression(depth - 1)}, 1: {self.leaf()}}}",
            f"{{{self.leaf()}: {self.leaf()}, {self.leaf()}: {self.leaf()}}}",
        ])


def too_long(*_):
    raise TimeoutError


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=2000)
    args = parser.parse_args()
    env = environment()
    rng = random.Random(args.seed)
    generator = Generator(rng)
    signal.signal(signal.SIGALRM, too_long)
    for _ in range(args.count):
        variables = generator.variables()
        template = "{{ " + generator.expression(rng.randrange(1, 5)) + " }}"
        signal.setitimer(signal.ITIMER_REAL, 2)
        python = render(env, template, variables)
        signal.setitimer(signal.ITIMER_REAL, 0)
        if " at 0x" in python or python.startswith(("!TimeoutError", "!MemoryError")) or len(python) > 100_000:
            continue
        try:
            print(json.dumps({"template": template, "variables": json.dumps(variables), "python": python}))
        except BrokenPipeError:
            return


if __name__ == "__main__":
    main()
