#!/usr/bin/env python3
"""Writes src/builtins/filters/entities.rs: the named characters of HTML, as `html.unescape` of Python 3.11 knows them.

Run from this directory's parent: python3 scripts/html_entities.py
"""

from html.entities import html5
from pathlib import Path

WIDTH = 118


def main() -> None:
    out = [
        "//! The named characters of HTML, as Python's `html.entities.html5` has them. Written by `scripts/html_entities.py`.",
        "",
        "#![cfg_attr(rustfmt, rustfmt::skip)]",
        "",
        "/// Names, most with the semicolon that belongs to them, in ascending order, and what they stand for.",
        "pub(super) static ENTITIES: &[(&str, &str)] = &[",
    ]
    line = "   "
    for name in sorted(html5):
        value = "".join(f"\\u{{{ord(c):x}}}" for c in html5[name])
        entry = f' ("{name}", "{value}"),'
        if len(line) + len(entry) > WIDTH:
            out.append(line)
            line = "   "
        line += entry
    out += [line, "];"]
    path = Path(__file__).resolve().parent.parent / "src/builtins/filters/entities.rs"
    path.write_text("\n".join(out) + "\n", encoding="utf-8")


main()
