//! `str.format` and `str.format_map` as the sandbox lets templates use them: attributes and items are looked up as
//! templates look them up (Jinja's `SandboxedFormatter` over Python's `string.Formatter`).

use super::Args;
use crate::error::{Error, ErrorKind, Result};
use crate::value::format::{push_formatted, to_ascii};
use crate::value::{Text, TextBuilder, Value, markup, repr};
use crate::vm::State;

/// `value.format(*args, **kwargs)`
pub(crate) fn format<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    Formatter::run(state, value, args, None)
}

/// `value.format_map(mapping)`
pub(crate) fn format_map<'a>(state: &mut State<'a>, value: Value<'a>, mapping: Value<'a>) -> Result<Value<'a>> {
    Formatter::run(state, value, Args::positional(&[]), Some(mapping))
}

/// How fields without a number are counted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Numbering {
    Automatic(usize),
    Manual,
}

struct Formatter<'s, 'a> {
    args: Args<'s, 'a>,
    /// Of `format_map`.
    mapping: Option<Value<'a>>,
    numbering: Numbering,
    /// `Markup` escapes what it takes in.
    escapes: bool,
}

/// A replacement field: `{name!conversion:spec}`.
struct Field<'a> {
    name: Text<'a>,
    conversion: Option<char>,
    spec: Text<'a>,
}

impl<'a> Formatter<'_, 'a> {
    fn run(
        state: &mut State<'a>,
        value: Value<'a>,
        args: Args<'_, 'a>,
        mapping: Option<Value<'a>>,
    ) -> Result<Value<'a>> {
        let text = value.as_text().unwrap_or(Text::new(""));
        let mut formatter = Formatter {
            args,
            mapping,
            numbering: Numbering::Automatic(0),
            escapes: matches!(value, Value::Markup(_)),
        };
        // `vformat` allows specifications that hold fields, but not those of these fields in turn.
        let formatted = formatter.vformat(state, text, 2)?;
        Ok(crate::builtins::convert::like(&value, formatted))
    }

    fn vformat(&mut self, state: &mut State<'a>, text: Text<'a>, depth: usize) -> Result<Text<'a>> {
        state.arena.meter().memory(text.len())?;
        let whole = text.as_str();
        let mut builder = TextBuilder::new();
        let mut pieces = text.pieces();
        let mut at = 0;
        while let Some(found) = whole[at..].find(['{', '}']) {
            let brace = at + found;
            let c = whole.as_bytes()[brace];
            pieces.copy_to(&mut builder, brace);
            at = brace + 1;
            if whole.as_bytes().get(at) == Some(&c) {
                pieces.copy_to(&mut builder, at);
                at += 1;
                pieces.skip_to(at);
                continue;
            }
            if c == b'}' {
                return Err(Error::value_error("Single '}' encountered in format string"));
            }
            if at == whole.len() {
                return Err(Error::value_error("Single '{' encountered in format string"));
            }
            let (field, end) = parse_field(state, text, at)?;
            at = end;
            pieces.skip_to(end);
            self.field(state, &mut builder, field, depth)?;
        }
        pieces.copy_to(&mut builder, whole.len());
        Ok(builder.finish(state.arena))
    }

    fn field(
        &mut self,
        state: &mut State<'a>,
        builder: &mut TextBuilder,
        field: Field<'a>,
        depth: usize,
    ) -> Result<()> {
        let mut value = self.lookup(state, field.name)?;
        if let Some(conversion) = field.conversion {
            let mut converted = TextBuilder::new();
            match conversion {
                's' => repr::push_str(&mut converted, &value, state, state.arena)?,
                'r' | 'a' => repr::push_repr(&mut converted, &value, state, state.arena)?,
                other => {
                    return Err(Error::value_error(format!("Unknown conversion specifier {other}")));
                }
            }
            let mut text = converted.finish(state.arena);
            if conversion == 'a' {
                text = to_ascii(text, state.arena);
            }
            value = Value::Str(text);
        }
        if depth == 0 {
            return Err(Error::value_error("Max string recursion exceeded"));
        }
        let spec = match field.spec.as_str().contains(['{', '}']) {
            true if depth == 1 => return Err(Error::value_error("Max string recursion exceeded")),
            true => self.vformat(state, field.spec, depth - 1)?,
            false => field.spec,
        };
        if !self.escapes {
            push_formatted(builder, &value, spec.as_str(), state, state.arena)?;
            return Ok(());
        }
        if let Value::Markup(text) = value {
            if !spec.is_empty() {
                return Err(Error::value_error("Unsupported format specification for Markup."));
            }
            state.arena.meter().memory(text.len())?;
            builder.push(text);
            return Ok(());
        }
        let mut formatted = TextBuilder::new();
        push_formatted(&mut formatted, &value, spec.as_str(), state, state.arena)?;
        builder.push(markup::escape(formatted.finish(state.arena), state.arena)?);
        Ok(())
    }

    /// The value that a field names.
    fn lookup(&mut self, state: &mut State<'a>, name: Text<'a>) -> Result<Value<'a>> {
        let whole = name.as_str();
        let end = whole.find(['.', '[']).unwrap_or(whole.len());
        // A name that starts with a dot or bracket is not numbered, but looked up as the empty key.
        let mut value = match &whole[..end] {
            "" if whole.is_empty() => {
                let Numbering::Automatic(next) = self.numbering else {
                    return Err(switched());
                };
                self.numbering = Numbering::Automatic(next + 1);
                self.argument(next)?
            }
            first => match number(first) {
                Some(index) => {
                    if let Numbering::Automatic(1..) = self.numbering
                        && end == whole.len()
                    {
                        return Err(switched());
                    }
                    if end == whole.len() {
                        self.numbering = Numbering::Manual;
                    }
                    self.argument(index)?
                }
                None => self.keyword(name.slice(0, end, state.arena))?,
            },
        };
        let mut at = end;
        while at < whole.len() {
            if whole.as_bytes()[at] == b'.' {
                let stop = whole[at + 1..].find(['.', '[']).map_or(whole.len(), |len| at + 1 + len);
                if stop == at + 1 {
                    return Err(Error::value_error("Empty attribute in format string"));
                }
                let attribute = name.slice(at + 1, stop, state.arena);
                value = state.getattr(value, attribute.as_str())?;
                at = stop;
                continue;
            }
            let Some(len) = whole[at + 1..].find(']') else {
                return Err(Error::value_error("Missing ']' in format string"));
            };
            let key = name.slice(at + 1, at + 1 + len, state.arena);
            if key.is_empty() {
                return Err(Error::value_error("Empty attribute in format string"));
            }
            let key = match number(key.as_str()) {
                Some(index) => Value::Int(index as i64, crate::value::Origin::COMPUTED),
                None => Value::Str(key),
            };
            value = state.getitem(value, key)?;
            at += len + 2;
            if at < whole.len() && !matches!(whole.as_bytes()[at], b'.' | b'[') {
                return Err(Error::value_error(
                    "Only '.' or '[' may follow ']' in format field specifier",
                ));
            }
        }
        Ok(value)
    }

    fn argument(&self, index: usize) -> Result<Value<'a>> {
        self.args
            .positional
            .get(index)
            .copied()
            .ok_or_else(|| Error::new(ErrorKind::Index, "tuple index out of range"))
    }

    fn keyword(&self, name: Text<'a>) -> Result<Value<'a>> {
        let found = match self.mapping {
            None => self
                .args
                .keyword
                .iter()
                .find(|(known, _)| *known == name.as_str())
                .map(|(_, value)| *value),
            Some(Value::Dict(dict)) => dict.get(name.as_str()),
            Some(Value::Undefined(undefined)) => return Err(undefined.exception().into()),
            Some(other) => {
                return Err(Error::type_error(match other {
                    Value::Str(_) | Value::Markup(_) => "string indices must be integers, not 'str'".to_owned(),
                    Value::List(_) | Value::Tuple(_) | Value::Range(_) => {
                        format!("{} indices must be integers or slices, not str", other.type_name())
                    }
                    other => format!("'{}' object is not subscriptable", other.type_name()),
                }));
            }
        };
        match found {
            Some(value) => Ok(value),
            None => {
                let mut shown = TextBuilder::new();
                repr::push_text_repr(&mut shown, name, false);
                Err(Error::new(ErrorKind::Key, shown.into_string()))
            }
        }
    }
}

#[cold]
fn switched() -> Error {
    Error::value_error("cannot switch from manual field specification to automatic field numbering")
}

/// A number of ASCII digits that is an index.
fn number(text: &str) -> Option<usize> {
    match !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        true => text.parse().ok(),
        false => None,
    }
}

/// Reads the field whose content starts at byte `start`; gives it and where the text goes on (`MarkupIterator_next`).
fn parse_field<'a>(state: &State<'a>, text: Text<'a>, start: usize) -> Result<(Field<'a>, usize)> {
    let whole = text.as_str();
    // Up to the brace that closes the field, counting those within.
    let mut open = 1;
    let mut end = None;
    // Brackets hide what is between them from the search for `!` and `:`.
    let mut bracket = false;
    let mut border = None;
    for (at, c) in whole.bytes().enumerate().skip(start) {
        match c {
            b'[' if border.is_none() => bracket = true,
            b']' if border.is_none() => bracket = false,
            b'{' if border.is_none() && !bracket => {
                return Err(Error::value_error("unexpected '{' in field name"));
            }
            b'{' if border.is_some() => open += 1,
            b'}' if bracket && border.is_none() => {}
            b'}' => open -= 1,
            b'!' | b':' if border.is_none() && !bracket => border = Some(at),
            _ => {}
        }
        if open == 0 {
            end = Some(at);
            break;
        }
    }
    let Some(end) = end else {
        return Err(Error::value_error("expected '}' before end of string"));
    };
    state.arena.meter().scan(end - start)?;
    let name_end = border.unwrap_or(end);
    let mut field = Field {
        name: text.slice(start, name_end, state.arena),
        conversion: None,
        spec: Text::new(""),
    };
    let Some(border) = border else {
        return Ok((field, end + 1));
    };
    let mut spec_start = border + 1;
    if whole.as_bytes()[border] == b'!' {
        let mut rest = whole[border + 1..end].chars();
        let Some(conversion) = rest.next() else {
            return Err(Error::value_error("unmatched '{' in format spec"));
        };
        field.conversion = Some(conversion);
        spec_start += conversion.len_utf8();
        match rest.next() {
            None => {}
            Some(':') => spec_start += 1,
            Some(_) => return Err(Error::value_error("expected ':' after conversion specifier")),
        }
    }
    field.spec = text.slice(spec_start.min(end), end, state.arena);
    Ok((field, end + 1))
}
