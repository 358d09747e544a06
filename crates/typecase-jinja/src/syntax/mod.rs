//! Template source to syntax tree, as Jinja2 3.1 reads it in the environment of `transformers`: `trim_blocks` and
//! `lstrip_blocks` on, `keep_trailing_newline` off, with loop controls and the `generation` block.
//!
//! Source: `lexer.py`, `parser.py` and `nodes.py` of Jinja2 3.1.6, `chat_template_utils.py` of transformers 5.23.0.

pub mod ast;
