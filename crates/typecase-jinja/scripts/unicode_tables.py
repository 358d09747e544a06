#!/usr/bin/env python3
"""Writes src/value/unicode/tables.rs: what CPython knows of every character.

Run with CPython 3.11 (Unicode 14.0.0), from this directory's parent: python3 scripts/unicode_tables.py
Every fact is asked of Python's own `str` methods, so the tables hold what a template sees, whatever the standard says.
"""

import sys
import unicodedata
from pathlib import Path

assert sys.version_info[:2] == (3, 11), "the tables are those of CPython 3.11"
CHARS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]


def is_ignorable(c: str) -> bool:
    # A final sigma looks through case-ignorable characters, which is the only place where they show.
    return ("aΣ" + c).lower()[1] == "ς" and ("aΣ" + c + "a").lower()[1] == "σ"


PROPERTIES = {
    "PRINTABLE": ("`str.isprintable`", str.isprintable),
    "ALPHA": ("`str.isalpha`", str.isalpha),
    "DIGIT": ("`str.isdigit`", str.isdigit),
    "NUMERIC": ("`str.isnumeric`", str.isnumeric),
    "UPPER": ("`str.isupper` of one character", str.isupper),
    "LOWER": ("`str.islower` of one character", str.islower),
    "TITLE": ("Title case proper (category Lt)", lambda c: c.istitle() and not c.isupper()),
    "CASED": ("The next character is no start of a word in `str.title`", lambda c: (c + "A").title()[-1] == "a"),
    "CASE_IGNORABLE": ("A final sigma looks through it", is_ignorable),
    "ID_START": ("May start an identifier", str.isidentifier),
    "ID_CONTINUE": ("May go on in an identifier", lambda c: ("a" + c).isidentifier()),
}


def borders(holds) -> list[int]:
    """Where the property begins to hold and ceases to, in turn."""
    out, last = [], False
    for c in CHARS:
        now = bool(holds(chr(c)))
        if now != last:
            out.append(c)
            last = now
    if last:
        out.append(0x110000)
    return out


def numbers(values: list[str], width: int = 118) -> str:
    lines, line = [], "   "
    for value in values:
        if len(line) + len(value) + 2 > width:
            lines.append(line)
            line = "   "
        line += f" {value},"
    lines.append(line)
    return "\n".join(lines)


def case_table(convert) -> tuple[list[tuple[int, int, int, int]], list[tuple[int, str]]]:
    """Runs (first, last, step, delta) of one-to-one mappings, and the mappings to several characters."""
    runs, special = [], []
    for c in CHARS:
        to = convert(chr(c))
        if to == chr(c):
            continue
        if len(to) != 1:
            special.append((c, to))
            continue
        delta = ord(to) - c
        if runs and runs[-1][3] == delta:
            first, last, step, _ = runs[-1]
            if step == 0 and c - last in (1, 2):
                runs[-1] = (first, c, c - last, delta)
                continue
            if step and c - last == step:
                runs[-1] = (first, c, step, delta)
                continue
        runs.append((c, c, 0, delta))
    return [(f, l, s or 1, d) for f, l, s, d in runs], special


def main() -> None:
    out = [
        "//! What CPython 3.11 (Unicode 14.0.0) knows of characters. Written by `scripts/unicode_tables.py`.",
        "",
        "#![cfg_attr(rustfmt, rustfmt::skip)]",
        "",
        "/// First and last character, step from one to the next, and what to add to each.",
        "pub(super) type CaseRun = (u32, u32, u32, i32);",
    ]
    for name, (doc, holds) in PROPERTIES.items():
        out += ["", f"/// {doc}: where it begins to hold and ceases to, in turn.", f"pub(super) static {name}: &[u32] = &["]
        out += [numbers([f"{b:#x}" for b in borders(holds)]), "];"]
    zeros = [c for c in CHARS if unicodedata.decimal(chr(c), None) == 0]
    for zero in zeros:
        assert [unicodedata.decimal(chr(zero + i), None) for i in range(10)] == list(range(10))
    assert sum(chr(c).isdecimal() for c in CHARS) == 10 * len(zeros)
    out += ["", "/// The zero of every ten decimal digits.", "pub(super) static ZEROS: &[u32] = &["]
    out += [numbers([f"{z:#x}" for z in zeros]), "];"]
    for name, convert in [("TO_LOWER", str.lower), ("TO_UPPER", str.upper), ("TO_TITLE", str.title), ("FOLD", str.casefold)]:
        runs, special = case_table(convert)
        out += ["", f"/// One to one mappings of `str.{convert.__name__}`.", f"pub(super) static {name}: &[CaseRun] = &["]
        out += [numbers([f"({f:#x}, {l:#x}, {s}, {d})" for f, l, s, d in runs]), "];"]
        out += ["", f"/// Mappings of `str.{convert.__name__}` to several characters.", f"pub(super) static {name}_MANY: &[(u32, &str)] = &["]
        escaped = ["".join(f"\\u{{{ord(x):x}}}" for x in to) for _, to in special]
        out += [numbers([f'({c:#x}, "{e}")' for (c, _), e in zip(special, escaped)]), "];"]
    path = Path(__file__).resolve().parent.parent / "src/value/unicode/tables.rs"
    path.write_text("\n".join(out) + "\n", encoding="utf-8")


main()
