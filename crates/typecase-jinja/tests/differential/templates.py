#!/usr/bin/env python3
"""Random templates over random chats, with what transformers makes of them.

    python3 templates.py --seed N --count N

Writes one JSON object per line: {"template", "variables", "text", "spans"}, or "error": {"type", "message", "line"} in
place of the last two. The environment is the one that transformers compiles chat templates in, and its clock stands
still; "spans" are the `{% generation %}` blocks as it records them, in code points. Outcomes that hold a memory address,
and templates that Python takes too long for, are left out.
"""

import argparse
import datetime
import gc
import json
import logging
import random
import signal
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from expressions import INTS, WORDS, Generator  # noqa: E402

NOW = "2026-03-14T15:09:26.535897"
LONGEST = 100_000

# Of Python, not of the template. `NameError`: Jinja writes a constant `nan` into the code that it makes as it is.
LEFT_OUT = ("TimeoutError", "MemoryError", "NameError")

# Few names, so that they meet: set here, read there, shadowed in between.
LOCALS = ["a", "b", "c", "x", "y", "item", "m", "content", "key"]
NAMESPACES = ["ns", "st"]
MACROS = ["mac", "show", "render", "a"]

STRINGS = [
    "s", "t", "%W", "%W", "s", "bos_token", "m.content", "m['role']", "messages[0].content", "messages[-1]['content']", "%S ~ %A", "%S ~ %A", "%S + %S", "%S + %W",
    "%S|upper", "%S|lower", "%S|trim", "%S|capitalize", "%S|title", "%S|replace(%W, %W)", "%S|string", "%A|string", "%A|tojson", "%A|tojson(indent=%J)",
    "%A|tojson(ensure_ascii=%B)", "%D|tojson(separators=(',', ': '))", "%S|escape", "%S|e", "%S|safe", "%S|indent", "%S|indent(%J, %B)", "%S|indent(first=true)", "%L|join", "%L|join(%W)",
    "%S|truncate(%J)", "%S|truncate(%J, true)", "%S|wordwrap(%J)", "%S|center(%J)", "%S|striptags", "%S|urlencode", "%S|first", "%S|last", "%S|default(%A)", "%U|default(%S)", "%U|d(%S, true)",
    "%S[%I:]", "%S[:%I]", "%S[%I:%I]", "%S[::%I]", "%S[::-1]", "%S[0]", "%S[-1]", "(%S if %B else %S)", "(%S if %B)", "(%S or %S)", "(%S and %S)", "%S * %J",
    "%S.strip()", "%S.lstrip(%W)", "%S.rstrip('\\n')", "%S.strip('\\n')", "%S.split(%W)[0]", "%S.split(%W)[-1]", "%S.split(%W)|last", "%S.rsplit(%W, 1)[0]", "%S.replace(%W, %W)", "%S.upper()", "%S.lower()",
    "%S.title()", "%S.capitalize()", "%S.removeprefix(%W)", "%S.removesuffix(%W)", "%W.join(%T)", "%S.format(%A)", "'{} {}'.format(%A, %A)", "'{0}-{a}'.format(%A, a=%A)", "'{:>%J}'.format(%S)",
    "'%%s and %%s' %% (%A, %A)", "'%%s' %% %A", "'%%d' %% %I", "'%%-5s|' %% %S", "%W|format(%A)", "%S.partition(%W)[0]", "%S.rpartition(%W)[2]", "%S.zfill(%J)", "%S.ljust(%J)", "%S.rjust(%J, '*')", "%S.center(%J)",
    "%S.expandtabs(%J)", "%S.swapcase()", "%S.casefold()", "strftime_now(%F)", "%A|pprint", "%D|xmlattr", "%S|reverse", "%S|wordcount|string", "%L|map('string')|join(%W)", "%T|map('upper')|join", "%I|filesizeformat",
    "tools[0].function.name", "message.content", "caller()", "%S.translate({97: %S})", "%S.__class__", "%S|attr('__class__')", "%S|attr('upper')()", "%S.splitlines()[0]", "%L|first|string", "dict(a=%S).a",
    "joiner(%W)()", "cycler(%S, %S).next()", "loop.cycle(%S, %S)", "loop.index ~ %S", "ns.x", "ns.text", "self.part()", "varargs|join(',')", "kwargs|string", "kwargs|tojson", "%L|string", "%D|string",
]
INTEGERS = [
    "n", "1", "2", "0", "3", "-1", "%J", "%I + %I", "%I - %I", "%I * %I", "%I // %I", "%I % %I", "%I ** 2", "%L|length", "%S|length", "%S|count", "%D|length", "%T|length", "%S|int", "%S|int(%I)", "%I|abs", "-%I", "+%I",
    "%S|wordcount", "%S.find(%W)", "%S.count(%W)", "%S.index(%W)", "loop.index", "loop.index0", "loop.length", "loop.revindex", "loop.revindex0", "loop.depth", "loop.depth0", "(%I if %B else %I)", "%G|sum", "%G|max", "%G|min", "%G|first", "ns.n", "ns.i + 1",
    "messages|length", "%F2|round|int", "%F2|int", "%B + 1", "%I|round", "%L.index(%A)", "%L.count(%A)", "%D.get(%W, %I)", "%I.bit_length()", "%I.real", "%S|string|length",
]
BOOLS = [
    "b", "true", "false", "True", "not %B", "%A == %A", "%S == %W", "%A != %A", "%I < %I", "%I <= %I", "%I > %I", "%S < %S", "%I < %I < %I", "%I == %I != %I", "%W in %S", "%W not in %S", "%A in %L", "%W in %D", "%A not in %L",
    "%B and %B", "%B or %B", "%A is defined", "%U is defined", "%U is not defined", "%A is none", "%A is not none", "%A is string", "%A is mapping", "%A is iterable", "%A is sequence", "%A is number", "%A is integer", "%A is float",
    "%A is boolean", "%A is true", "%A is false", "%I is odd", "%I is even", "%I is divisibleby(3)", "%I is divisibleby 2", "%S is lower", "%S is upper", "%A is eq(%A)", "%I is gt %I", "%A is in %L", "%A is sameas(%A)", "%A is callable", "%A is escaped", "%W is filter", "%W is test",
    "%S.startswith(%W)", "%S.endswith(%W)", "%S.startswith((%W, %W))", "%S.isdigit()", "%S.isalpha()", "%S.isspace()", "%S.isupper()", "loop.first", "loop.last", "not loop.last", "loop.changed(%A)", "loop.nextitem is defined", "loop.previtem is defined",
    "ns.found", "message.role == 'user'", "m.role == 'assistant'", "m.tool_calls is defined and m.tool_calls", "tools is defined and tools", "messages[0].role == 'system'", "add_generation_prompt", "enable_thinking is defined and enable_thinking is false", "%A", "%L", "%S", "caller is defined", "varargs", "loop is defined",
]
LISTS = [
    "xs", "words", "ds", "messages", "tools", "m.tool_calls", "m.content", "[%A, %A]", "[]", "[%A]", "(%A, %A)", "%L + %L", "%L[%I:]", "%L[::-1]", "%L[:%I]", "%L|list", "%L|reverse|list", "%L|reverse", "%L|sort", "%T|sort", "%T|sort(reverse=true)", "%T|unique|list", "%T|unique", "%L|unique|list",
    "%L|batch(%J)|list", "%L|batch(2, %A)", "%L|slice(2)|list", "%L|map('string')", "%L|map('string')|list", "%L|select|list", "%L|select('string')|list", "%L|reject('none')|list", "%L|reject('string')", "%T|select('in', %S)|list", "ds|selectattr('a')|list", "ds|selectattr('a', 'defined')", "ds|rejectattr('b')|list", "ds|selectattr('a', 'eq', %A)|list",
    "ds|map(attribute='a')|list", "ds|map(attribute='a', default=%A)|list", "messages|map(attribute='role')|list", "messages|selectattr('role', 'equalto', 'user')|list", "messages|rejectattr('role', 'eq', 'system')|list", "messages|groupby('role')", "messages|groupby('role')|map(attribute='list')|list", "messages|map(attribute='content')|select('string')|list",
    "%D|items", "%D|items|list", "%D.items()", "%D.items()|list", "%D.keys()|list", "%D.keys()", "%D.values()", "%D.values()|list", "%D|dictsort", "%D|dictsort(reverse=true)", "%D|dictsort(by='value')", "%D|list", "%S|list", "%S.split(%W)", "%S.split()", "%S.split(%W, 1)", "%S.rsplit(%W, 1)", "%S.splitlines()", "%S.splitlines(true)", "%S.partition(%W)",
    "%G|list", "%G", "%G[1:]", "%G|map('string')|list", "(%L if %B else %L)", "%L * %J", "(%L or [])", "namespace(a=%L).a", "%L.copy()", "varargs", "%S|slice(2)|list", "%L|map('upper')|list", "%L|map('length')|list", "%L|map('default', %A)|list", "%L|map('tojson')|list", "%D|dictsort|map('first')|list", "%D|dictsort|map(attribute=0)|list", "messages[1:]", "messages[::-1]", "messages[:-1]", "loop.previtem", "%L.append(%A)", "%L.pop()", "%L.sort()",
]
TEXTS = ["words", "['b', 'A', 'c']", "%S.split()", "%L|map('string')|list", "[%S, %S]", "['x', %S]", "words[1:]", "%D.keys()"]
RANGES = ["range(%J)", "range(3)", "range(1, %J)", "range(%J, 0, -1)", "range(0, 10, 3)", "[3, 1, 2]", "range(%I)"]
DICTS = ["d", "d", "{}", "{'a': %A}", "{'a': %A, 'b': %A}", "{%S: %A, 1: %A}", "dict(a=%A, b=%A)", "m", "messages[0]", "{'items': %A, 'x': %A}", "(d or {})", "(%D if %B else {})", "tools[0].function", "dict(%D, z=%A)", "d.copy()", "ds[0]", "dict(%D.items())", "{none: %A, true: %A, 1.0: %A}", "{(1, 2): %A}", "kwargs", "dict.fromkeys(%L, %A)"]
OTHERS = ["none", "none", "None", "1.5", "f", "%F2", "%I / %I", "undefinedx", "missing", "(%A, )", "()", "%A if %B else %A", "%A if %B", "%L|first", "%L|last", "%L[0]", "%L[%I]", "%L[-1]", "%D.a", "%D['a']", "%D.items", "%D[%W]", "%D.get(%W)", "%D.get(%W, %A)", "%L|max", "%L|min", "%G|random|default(1) if false",
          "loop.nextitem", "loop.previtem", "loop", "ns", "range", "mac", "caller", "d.keys()", "%L|sum", "%F2|round(%J)", "%F2|round(1, 'ceil')", "%F2|round(0, 'floor')", "m.missing", "m.tool_calls[0].function.arguments", "2 ** %J", "%I|float", "%S|float", "%S|float(%A)", "messages|first", "%L|batch(2)", "%D|attr('a')", "%A.x", "%A['x']", "%A|default(%A)", "%A|default(%A, true)", "%A or %A", "%A and %A", "joiner()", "cycler(1, 2)", "%L.__init__", "lipsum is defined", "super", "self", "%A|abs", "dict", "namespace"]
FLOAT_EXPRESSIONS = ["f", "1.5", "%I / 2", "%I / 3", "2.5", "0.1", "%S|float", "%I|float", "%F2 * %F2", "%F2 + 1", "1e3", "-0.0", "%F2 // 2", "%F2 % 2"]
STRFTIMES = ["'%d %b %Y'", "'%Y-%m-%d'", "'%H:%M:%S'", "'%A, %B %d, %Y'", "'%j %U %w %y %p %I'", "'%%'", "'%e'", "'%F %T'", "'%c|%x|%X'", "s", "'%f'", "'%-d'", "'%Z%z'"]
# What filter blocks and set blocks take.
TEXT_FILTERS = ["upper", "lower", "trim", "title", "replace(%W, %W)", "indent", "indent(%J, true)", "length", "escape", "safe", "trim|upper", "default(%W)", "string", "capitalize", "tojson", "reverse", "list", "int", "first", "wordcount", "truncate(%J)", "center(20)", "striptags", "replace('a', s)"]
UNKNOWN = ["nofilter", "to_json", "bogus(1)", "fromjson"]
CHUNKS = ["<|im_start|>", "<|im_end|>\n", "\n", "\n\n", " ", "  ", "\t", "text", "a b", "user\n", ": ", "\n  x", "x\n", "é", "日本", "😀", "<b>", "{ }", "}}", "%", "#", "'", "\"", "\r\n", "\n \n", "-", "[INST] ", "\x0b", "\x85", "\u2028", "\\n", "\r"]

# The names in an expression that are not there everywhere.
NEEDED = {}


class Scope:
    """What the place in a template allows."""

    def __init__(self, loop=False, macro=False, caller=False, depth=3):
        self.loop, self.macro, self.caller, self.depth = loop, macro, caller, depth

    def inner(self, **changes):
        scope = Scope(self.loop, self.macro, self.caller, self.depth - 1)
        for name, value in changes.items():
            setattr(scope, name, value)
        return scope


class Templates(Generator):
    def __init__(self, rng):
        super().__init__(rng)
        self.blocks = 0
        self.wild = 0.0
        self.tools = False
        self.at(Scope())

    # data

    def chat_text(self):
        r = self.rng
        return "".join(r.choice(WORDS + ["Hello", "<think>\nhm\n</think>\n\nyes", " ", "\n", "<|im_end|>", "What's 2+2?"]) for _ in range(r.randrange(4)))

    def message(self):
        r = self.rng
        role = r.choice(["user", "assistant", "system", "tool", "user"])
        message = {"role": role, "content": self.chat_text()}
        if r.random() < 0.2:
            message["content"] = [{"type": "text", "text": self.chat_text()} for _ in range(r.randrange(3))]
        if role == "assistant" and r.random() < 0.4:
            arguments = {r.choice(["a", "b", "city"]): self.value(1) for _ in range(r.randrange(3))}
            message["tool_calls"] = [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": arguments if r.random() < 0.7 else json.dumps(arguments)}}]
        if r.random() < 0.1:
            message["reasoning_content"] = self.chat_text()
        return message

    def variables(self):
        r = self.rng
        variables = super().variables()
        variables.pop("m")
        variables["messages"] = [self.message() for _ in range(r.randrange(1, 4))]
        variables["message"] = self.message()
        variables["add_generation_prompt"] = r.random() < 0.5
        variables["bos_token"] = "<s>"
        self.tools = r.random() < 0.5
        if self.tools:
            variables["tools"] = [{"type": "function", "function": {"name": "f", "description": self.chat_text(), "parameters": {"type": "object", "properties": {"a": {"type": "string", "description": self.chat_text()}}}}}]
        for name in LOCALS:
            if r.random() < 0.25:
                variables[name] = self.value(1)
        if r.random() < 0.9:
            variables["m"] = self.message()
        if r.random() < 0.03:
            variables[r.choice(["loop", "range", "namespace", "caller", "dict", "raise_exception", "varargs", "mac", "x", "tools"])] = self.value(1)
        return variables

    # expressions

    def pick(self, depth, choices):
        r = self.rng
        choices = [choice for choice in choices if self.is_there(choice)] or ["s"]
        if depth <= 0:
            choices = [choice for choice in choices if "%" not in choice or choice in ("%W", "%J")] or ["s"]
        text = self.filled(r.choice(choices), depth)
        return f"({text})" if (" " in text or "|" in text or "." in text or text.startswith("-")) and r.random() < 0.7 else text

    def at(self, scope):
        """The next expressions stand in `scope`."""
        self.there = {"loop": scope.loop, "caller": scope.caller, "args": scope.macro, "self.": self.blocks > 0, "tools[": self.tools, "super": False}

    def is_there(self, choice):
        """Whether `choice` makes sense here. Now and then it may make none."""
        needed = NEEDED.get(choice)
        if needed is None:
            needed = NEEDED[choice] = [word for word in ("loop", "caller", "args", "self.", "tools[", "super") if word in choice]
        return all(self.there[word] for word in needed) or self.rng.random() < 0.01

    def filled(self, pattern, depth):
        out, i = "", 0
        while i < len(pattern):
            if pattern[i] != "%" or i + 1 == len(pattern):
                out += pattern[i]
                i += 1
                continue
            hole = pattern[i + 1]
            if pattern[i + 1 : i + 3] == "F2":
                out += self.pick(depth - 1, FLOAT_EXPRESSIONS)
                i += 3
                continue
            if hole in "SILDATBUWJGF":
                inner = self.hole(hole, depth)
                # Without parentheses `a|f.g` does not compile, and `a + b` gives mostly errors.
                bound = pattern[i + 2 : i + 3] in (".", "[") and inner[0] != "("
                out += f"({inner})" if bound and self.rng.random() < 0.98 else inner
                i += 2
            elif hole == "%":
                out += "%"
                i += 2
            else:
                out += "%"
                i += 1
        return out

    def hole(self, hole, depth):
        r = self.rng
        # A name that may be anything, or nothing.
        if hole in "SILDA" and r.random() < 0.12:
            return r.choice(LOCALS)
        if hole in "SILDA" and r.random() < self.wild:
            return f"({Generator.expression(self, 2)})"
        match hole:
            case "S":
                return self.pick(depth - 1, STRINGS)
            case "I":
                return self.pick(depth - 1, INTEGERS) if r.random() < 0.9 else self.leaf_integer()
            case "B":
                return self.pick(depth - 1, BOOLS)
            case "L":
                return self.pick(depth - 1, LISTS)
            case "T":
                return self.pick(depth - 1, TEXTS)
            case "G":
                return self.pick(depth - 1, RANGES)
            case "D":
                return self.pick(depth - 1, DICTS)
            case "U":
                return r.choice(["undefinedx", "missing", "m.nothing", "d.nothing", *LOCALS])
            case "W":
                return self.literal()
            case "J":
                return str(r.choice([0, 1, 2, 3, 4, 5, 8]))
            case "F":
                return r.choice(STRFTIMES)
        return self.anything(depth - 1)

    def leaf_integer(self):
        value = self.rng.choice(INTS)
        return f"({value})" if value < 0 else str(value)

    def literal(self):
        r = self.rng
        kind = r.random()
        if kind < 0.55:
            return r.choice(["'a'", "'b'", "' '", "'\\n'", "','", "''", '"x"', "'user'", "'</think>'", "'content'", "'items'", "'role'", "'A'", "'l'", "'<b>'", "'o'"])
        return self.text()

    def anything(self, depth):
        return self.pick(depth, self.rng.choice([STRINGS, STRINGS, INTEGERS, BOOLS, LISTS, DICTS, OTHERS, OTHERS]))

    def leaf(self):
        if self.rng.random() < 0.3:
            return self.rng.choice(LOCALS + ["loop.index", "ns.x", "messages", "d.items()", "loop", "mac", "range(3)|list"])
        return super().leaf()

    def printed(self, scope):
        r = self.rng
        kind = r.random()
        depth = r.choice([0, 1, 1, 2, 2, 3])
        if kind < 0.3:
            return r.choice(LOCALS + ["ns.x", "ns.n", "loop.index" if scope.loop else "s", "varargs" if scope.macro else "t", "kwargs|length" if scope.macro else "n"])
        if kind < 0.5:
            return self.pick(depth, STRINGS)
        if kind < 0.5 + 0.05:
            return Generator.expression(self, r.randrange(1, 4))
        if kind < 0.6:
            return self.macro_call(scope)
        if kind < 0.65 and scope.loop:
            return r.choice(["loop.index", "loop.first", "loop.last", "loop.length", "loop.revindex0", "loop.previtem", "loop.nextitem", "loop.cycle('a', 'b')", "loop.changed(%A)" .replace("%A", r.choice(LOCALS)), "loop.depth", "loop(%s)" % r.choice(["xs", "[]", "words"])])
        if kind < 0.68 and scope.caller:
            return r.choice(["caller()", "caller(1)", "caller(s, t)", "caller(x=1)", "caller()|upper"])
        return self.anything(depth)

    def macro_call(self, scope, plain=False):
        r = self.rng
        arguments = [self.anything(1) for _ in range(r.choice([0, 0, 1, 1, 2, 3]))]
        arguments += [f"{name}={self.anything(1)}" for name in r.sample(LOCALS, r.choice([0, 0, 0, 1, 2]))]
        if r.random() < 0.05:
            arguments.append("*" + r.choice(["xs", "words", "[1]"]))
        if r.random() < 0.05:
            arguments.append("**" + r.choice(["d", "{'a': 1}", "{'x': 2, 'y': s}"]))
        if r.random() < 0.03:
            arguments.append("caller=" + r.choice(["none", "mac", "1"]))
        call = f"{r.choice(MACROS)}({', '.join(arguments)})"
        if plain:
            return call
        return call + (r.choice(["|upper", "|length", "|trim", "|safe", ".strip()", "[1:]", " ~ s", "|indent"]) if r.random() < 0.25 else "")

    # statements

    def tag(self, text):
        r = self.rng
        before = r.choice(["", "", "", "-", "-", "+"])
        after = r.choice(["", "", "", "-", "-", "+"]) if r.random() < 0.8 else ""
        space = " " if r.random() < 0.9 else r.choice(["", "\n", "\t", "  "])
        # `{%raw`, `{%+` and `{%-` all read well without a space.
        return "{%" + before + space + text + " " + after + "%}"

    def gap(self):
        return self.rng.choice(["", "", "", "", "\n", "\n", "\n    ", " ", "\t", "\n\n"])

    def body(self, scope, least=1):
        r = self.rng
        count = r.choice([1, 1, 2, 2, 3]) if scope.depth > 0 else 1
        return "".join(self.gap() + self.statement(scope) for _ in range(max(count, least))) + self.gap()

    def target(self):
        r = self.rng
        kind = r.random()
        if kind < 0.8:
            return r.choice(LOCALS)
        if kind < 0.95:
            return ", ".join(r.sample(LOCALS, 2))
        return r.choice(["(a, b), c", "a, (b, c)", "a,", "a, b, c", "(a, b)", "a, a"])

    def statement(self, scope):
        r = self.rng
        self.at(scope)
        if scope.depth <= 0:
            kind = r.choice(["text", "print", "print", "set", "attribute"])
        else:
            kind = r.choice(["text", "text", "print", "print", "print", "print", "if", "if", "for", "for", "for", "set", "set", "set", "set block", "namespace", "attribute", "macro", "macro", "call", "with", "filter", "generation", "jump", "jump", "raw",
                             "comment", "raise", "recursive", "print", "text", "block" if r.random() < 0.3 else "print", "autoescape" if r.random() < 0.15 else "text", "messages", "unknown" if r.random() < 0.1 else "set", "wild"])
        inner = scope.inner()
        match kind:
            case "text":
                return "".join(r.choice(CHUNKS) for _ in range(r.randrange(1, 4)))
            case "print":
                minus = r.choice(["", "", "", "-", "+"]), r.choice(["", "", "", "-"])
                return "{{" + minus[0] + " " + self.printed(scope) + " " + minus[1] + "}}"
            case "wild":
                return "{{ (" + Generator.expression(self, r.randrange(1, 4)) + ") }}"
            case "if":
                out = self.tag(f"if {self.pick(2, BOOLS)}") + self.body(inner)
                while r.random() < 0.25:
                    out += self.tag(f"elif {self.pick(2, BOOLS)}") + self.body(inner)
                if r.random() < 0.5:
                    out += self.tag("else") + self.body(inner)
                return out + self.tag("endif")
            case "for" | "messages":
                pairs = r.random() < 0.2
                if kind == "messages":
                    head = f"for {r.choice(['m', 'message', 'm', 'item'])} in messages" + r.choice(["", "", "[1:]", "|reverse", "|selectattr('role', 'eq', 'user')"])
                elif pairs:
                    head = f"for {r.choice(LOCALS)}, {r.choice(LOCALS)} in " + r.choice(["d.items()", "d|items", "d|dictsort", "messages|groupby('role')", "[(1, 2), (3, 4)]", "ds|map('items')|map('list')", "[[a, b], [s, t]]", "{'a': 1}.items()"])
                else:
                    head = f"for {self.target() if r.random() < 0.1 else r.choice(LOCALS)} in {self.pick(2, r.choice([LISTS, RANGES, TEXTS]))}"
                if r.random() < 0.2:
                    head += f" if {self.pick(1, BOOLS)}"
                body = scope.inner(loop=True)
                out = self.tag(head) + self.body(body, 1)
                if r.random() < 0.25:
                    out += self.tag("else") + self.body(scope.inner())
                return out + self.tag("endfor")
            case "recursive":
                name = r.choice(LOCALS)
                source = r.choice(["xs", "[[1, 2], [3, [4]]]", "ds", "[{'a': [{'a': []}]}, {'a': []}]", "words", "d.items()", "range(3)", "[[], [[]]]", "messages"])
                deeper = r.choice([f"{name}.a", name, f"{name}[1:]", "[]", f"{name}.content", "words", "xs[1:]"])
                guard = r.choice([f"{name} is iterable and {name} is not string", f"{name}.a", f"loop.depth < {r.randrange(1, 4)}", f"{name} is sequence and loop.depth < 3", f"{name} is mapping"])
                test = f" if {self.pick(1, BOOLS)}" if r.random() < 0.15 else ""
                call = r.choice(["{{ loop(%s) }}", "{{ loop(%s)|upper }}", "({{ loop(%s) }})", "{%% set y = loop(%s) %%}{{ y }}", "{{- loop(%s) -}}"]) % deeper
                call = self.tag(f"if {guard} and loop.depth < 5") + call + self.tag("endif")
                out = self.tag(f"for {name} in {source}{test} recursive") + self.body(scope.inner(loop=True)) + call + self.body(scope.inner(loop=True, depth=0))
                if r.random() < 0.2:
                    out += self.tag("else") + self.body(scope.inner())
                return out + self.tag("endfor")
            case "set":
                kind = r.random()
                if kind < 0.85:
                    return self.tag(f"set {r.choice(LOCALS)} = {self.anything(r.choice([0, 1, 2, 3]))}")
                if kind < 0.95:
                    return self.tag(f"set {', '.join(r.sample(LOCALS, 2))} = {self.anything(1)}, {self.anything(1)}")
                return self.tag(f"set {self.target()} = {self.pick(2, r.choice([LISTS, OTHERS]))}")
            case "set block":
                filters = "|" + self.filled(r.choice(TEXT_FILTERS), 1) if r.random() < 0.3 else ""
                return self.tag(f"set {r.choice(LOCALS)}{filters}") + self.body(inner) + self.tag("endset")
            case "namespace":
                parts = [f"{name}={self.anything(1)}" for name in r.sample(["x", "n", "i", "found", "text", "items"], r.randrange(4))]
                if r.random() < 0.1:
                    parts.insert(0, r.choice(["d", "[('x', 1)]", "{'n': 2}"]))
                return self.tag(f"set {r.choice(NAMESPACES)} = namespace({', '.join(parts)})")
            case "attribute":
                name = r.choice(["x", "n", "i", "found", "text"])
                space = r.choice(NAMESPACES) if r.random() < 0.99 else r.choice(LOCALS)
                # Mostly to a namespace that is there: without one, the template ends here.
                value = r.choice([self.anything(1), f"{space}.{name}", f"{space}.n + 1", f"{space}.text ~ s", "loop.index0" if scope.loop else "1"])
                if r.random() < 0.1:
                    return self.tag(f"set {space}.{name}") + self.body(inner) + self.tag("endset")
                return self.tag(f"set {space}.{name} = {value}")
            case "macro":
                parameters = r.sample(LOCALS, r.choice([0, 1, 1, 2, 3]))
                defaults = 0
                declared = []
                for at, name in enumerate(parameters):
                    if (defaults and r.random() < 0.99) or r.random() < 0.35:
                        defaults += 1
                        default = r.choice([self.anything(1), r.choice(parameters), r.choice(LOCALS)])
                        declared.append(f"{name}={default}")
                    else:
                        declared.append(name)
                if r.random() < 0.04:
                    declared.append(r.choice(["caller", "caller=none", "varargs=1", "kwargs=2"]))
                name = r.choice(MACROS)
                caller = r.random() < 0.3
                body = self.body(scope.inner(loop=scope.loop and r.random() < 0.02, macro=True, caller=caller))
                out = self.tag(f"macro {name}({', '.join(declared)})") + body + self.tag(r.choice(["endmacro"] * 20 + [f"endmacro {name}"]))
                if r.random() < 0.6:
                    out += "{{ " + self.macro_call(scope).replace("mac(", f"{name}(", 1) + " }}"
                return out
            case "call":
                parameters = r.sample(LOCALS, r.choice([0, 0, 0, 1, 2]))
                declared = f"({', '.join(p + '=1' if r.random() < 0.2 * at else p for at, p in enumerate(parameters))})" if parameters or r.random() < 0.1 else ""
                call = self.macro_call(scope, plain=True) if r.random() < 0.3 else f"{r.choice(MACROS)}({self.anything(1) if r.random() < 0.5 else ''})"
                return self.tag(f"call{declared} {call}") + self.body(scope.inner(loop=scope.loop and r.random() < 0.02, macro=True, caller=False)) + self.tag("endcall")
            case "with":
                pairs = [f"{r.choice(LOCALS)} = {self.anything(1)}" for _ in range(r.choice([0, 1, 1, 2, 3]))]
                return self.tag(f"with {', '.join(pairs)}") + self.body(inner) + self.tag("endwith")
            case "filter":
                return self.tag(f"filter {self.filled(r.choice(TEXT_FILTERS), 1)}") + self.body(inner) + self.tag("endfilter")
            case "generation":
                return self.tag("generation") + self.body(scope.inner(loop=scope.loop and r.random() < 0.02)) + self.tag("endgeneration")
            case "jump":
                if not scope.loop:
                    return "x" if r.random() < 0.97 else self.tag("break")
                jump = self.tag(r.choice(["break", "continue"]))
                return self.tag(f"if {self.pick(1, BOOLS)}") + r.choice(["", "!"]) + jump + self.tag("endif") if r.random() < 0.9 else jump
            case "raw":
                return self.tag("raw").replace("+%}", "%}") + r.choice(["{{ a }}", "{% if %}", " x\n ", "{# c #}", "\n", "{{", "{% endfor %}"]) + self.tag("endraw").replace("+%}", "%}")
            case "comment":
                return "{#" + r.choice(["", "-", "+"]) + r.choice([" c ", "", "\n{{ a }}\n", " {% if %} ", "-"]) + r.choice(["", "-", "+"]) + "#}"
            case "raise":
                return self.tag(f"if {self.pick(1, BOOLS)} and {self.pick(1, BOOLS)} and {self.pick(1, BOOLS)}") + "{{ raise_exception(" + self.pick(1, STRINGS) + ") }}" + self.tag("endif")
            case "block":
                self.blocks += 1
                name = r.choice(["part", f"part{self.blocks}"])
                scoped = r.choice(["", "", " scoped", " scoped" if r.random() < 0.8 else " required"]) if r.random() < 0.5 else ""
                return self.tag(f"block {name}{scoped}") + self.body(scope.inner(loop=False)) + self.tag(r.choice(["endblock", f"endblock {name}"]))
            case "autoescape":
                return self.tag(f"autoescape {r.choice(['true', 'false', 'b', 'true'])}") + self.body(inner) + self.tag("endautoescape")
            case "unknown":
                name = r.choice(UNKNOWN)
                return r.choice(["{{ s|" + name + " }}", "{% if b %}{{ s|" + name + " }}{% endif %}", "{{ 1 if s is notest else 2 }}", "{{ s|" + name + " if b else 1 }}", "{% do x %}", "{% if b %}{{ s is notest }}{% endif %}"])
        return ""

    def prologue(self, source):
        """Defines names that `source` reads, so that not every other template ends in an error."""
        r = self.rng
        out = ""
        if "ns" in source:
            out += "{%- set ns = namespace(x=1, n=0, i=2, found=false, text='') %}"
        if "st" in source:
            out += "{%- set st = namespace(x='y', n=5, i=0, found=true, text=s) -%}"
        for name in MACROS[:3]:
            if f"{name}(" in source and r.random() < 0.9:
                parameters = r.choice(["", "a", "a, b=1", "x, y=x", "a=s, b=a, c=b", "content, key=none"])
                body = r.choice(["[{{ a }}{{ b }}]", "{{ varargs }}{{ kwargs }}", "({{ caller() if caller else x }})", "<{{ x }}|{{ y }}>", "{{ a }}{{ varargs|length }}{{ kwargs.x }}", "{{ content ~ key }}", "{%- for x in varargs %}{{ x }}{% endfor %}{{ kwargs|length }}"])
                out += "{%- macro " + f"{name}({parameters}) -%}}" + body + "{%- endmacro -%}"
        return out

    def template(self):
        r = self.rng
        self.wild = r.choice([0.0, 0.0, 0.0, 0.05])
        self.blocks = 0
        scope = Scope(depth=r.choice([1, 2, 2, 3, 3, 4]))
        source = "".join(self.gap() + self.statement(scope) for _ in range(r.randrange(1, 6)))
        if r.random() < 0.9:
            source = self.prologue(source) + source
        if r.random() < 0.3:
            source += "\n"
        if r.random() < 0.04:
            source = self.broken(source)
        return source

    def broken(self, source):
        """`source` with an accident in it."""
        r = self.rng
        for _ in range(r.choice([1, 1, 2])):
            at = r.randrange(len(source) + 1)
            piece = r.choice(["", "", "{%", "%}", "}}", "{{", "'", "(", ")", "]", "|", ".", ",", "-", " if ", " in ", "=", "{#", "#}", "endif", "0", "é", "~", "not ", "\\", "{% else %}", "{% endfor %}", "`", "$", "!", "1_000 ", "0x1f ", "1e5 ", "is "])
            source = source[:at] + piece + source[at + r.choice([0, 0, 1, 1, 3]) :]
        return source


def oracle():
    """Renders as transformers does."""
    import jinja2
    from transformers.utils import chat_template_utils as utils

    assert jinja2.__version__ == "3.1.6"
    now = datetime.datetime.fromisoformat(NOW)

    class Clock(datetime.datetime):
        @classmethod
        def now(cls, tz=None):
            return now

    utils.datetime = Clock
    # transformers makes an equal environment for every template.

    environment = utils._compile_jinja_template("").environment

    def render(source, variables):
        try:
            template = environment.from_string(source)
            blocks, spans = [], []
            with template.environment.activate_tracker(blocks, spans):
                for block in template.generate(**variables):
                    blocks.append(block)
            return {"text": "".join(blocks), "spans": spans}
        except TimeoutError:
            return None
        except Exception as exc:
            error = {"type": type(exc).__name__, "message": str(exc)}
            if isinstance(exc, jinja2.TemplateSyntaxError):
                error["line"] = exc.lineno
            return {"error": error}

    return render


class Alarm:
    """Raises when a template takes too long, and remembers that: Jinja makes other errors of it."""

    def __init__(self):
        self.rang = False
        signal.signal(signal.SIGALRM, self.ring)

    def ring(self, *_):
        self.rang = True
        raise TimeoutError

    def set(self, seconds):
        self.rang = self.rang and not seconds
        signal.setitimer(signal.ITIMER_REAL, seconds)


def holds_address(text):
    """Whether a memory address is in `text`, however it was respelled."""
    lower = text.lower()
    return " at 0x" in lower or "0x7f" in lower or "f7x0" in lower or "0x55" in lower or "55x0" in lower


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=2000)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    render = oracle()
    # transformers is a lot for the collector to go through again and again.
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    generator = Templates(random.Random(args.seed))
    alarm = Alarm()
    written = 0
    while written < args.count:
        variables = generator.variables()
        source = generator.template()
        alarm.set(2)
        try:
            outcome = render(source, variables)
        except TimeoutError:
            continue
        finally:
            alarm.set(0)
        text = outcome.get("text", outcome.get("error", {}).get("message", "")) if outcome else ""
        if outcome is None or alarm.rang or holds_address(text) or len(text) > LONGEST or outcome.get("error", {}).get("type") in LEFT_OUT:
            continue
        try:
            print(json.dumps({"template": source, "variables": json.dumps(variables), **outcome}))
        except BrokenPipeError:
            return
        written += 1


if __name__ == "__main__":
    main()
