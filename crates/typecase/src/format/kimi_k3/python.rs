//! Values as Python's `str()` spells them, which the reference calls on whatever stands where text should.

use std::fmt::Write;
use typecase_jinja::value::unicode::is_printable;
use typecase_jinja::value::{Value, float};

/// `str(value)`.
pub(super) fn to_str(value: Value<'_>) -> String {
    let mut out = String::new();
    match value {
        Value::Str(text) => out.push_str(text.as_str()),
        other => write_repr(&mut out, other),
    }
    out
}

fn write_repr(out: &mut String, value: Value<'_>) {
    match value {
        Value::None(_) => out.push_str("None"),
        Value::Bool(true, _) => out.push_str("True"),
        Value::Bool(false, _) => out.push_str("False"),
        Value::Int(int, _) => out.push_str(&int.to_string()),
        Value::BigInt(int, _) => out.push_str(&int.to_string()),
        Value::Float(float, _) => float::write_repr(out, float),
        Value::Str(text) => write_str_repr(out, text.as_str()),
        Value::List(list) | Value::Tuple(list) => {
            out.push('[');
            for (i, item) in list.items().iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                write_repr(out, *item);
            }
            out.push(']');
        }
        Value::Dict(dict) => {
            out.push('{');
            for (i, (key, value)) in dict.entries().iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                write_repr(out, *key);
                out.push_str(": ");
                write_repr(out, *value);
            }
            out.push('}');
        }
        other => out.push_str(other.type_name()),
    }
}

fn write_str_repr(out: &mut String, text: &str) {
    let quote = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    out.push(quote);
    for c in text.chars() {
        let code = u32::from(c);
        let _ = match c {
            '\\' => out.write_str("\\\\"),
            '\n' => out.write_str("\\n"),
            '\r' => out.write_str("\\r"),
            '\t' => out.write_str("\\t"),
            c if c == quote => write!(out, "\\{c}"),
            c if is_printable(c) => out.write_char(c),
            _ if code < 0x100 => write!(out, "\\x{code:02x}"),
            _ if code < 0x1_0000 => write!(out, "\\u{code:04x}"),
            _ => write!(out, "\\U{code:08x}"),
        };
    }
    out.push(quote);
}
