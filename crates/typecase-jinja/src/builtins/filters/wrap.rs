//! `wordwrap` and `pprint`, as `textwrap` and `pprint` of Python lay text out.

use super::group::sorted_by;
use super::sequence::int_argument;
use crate::builtins::Args;
use crate::error::{Error, ErrorKind, Result};
use crate::value::compare::{MAX_NESTING, less, too_deep};
use crate::value::text::{char_len, is_space, split};
use crate::value::unicode::{decimal, is_alnum};
use crate::value::{ExceptionKind, Origin, Text, TextBuilder, Value, repr};
use crate::vm::State;
use std::ops::Range;

pub(super) fn wordwrap<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let [width, break_long_words, wrapstring, break_on_hyphens] = args.bind(
        "do_wordwrap",
        ["width", "break_long_words", "wrapstring", "break_on_hyphens"],
        0,
    )?;
    let is_set = |flag: Option<Value<'_>>| flag.is_none_or(|flag| flag.is_true());
    let glue = match wrapstring {
        None | Some(Value::None(_)) => Text::new("\n"),
        Some(Value::Undefined(undefined)) => return Err(undefined.exception().into()),
        Some(glue) => glue.as_text().ok_or_else(|| {
            Error::new(
                ErrorKind::Attribute,
                format!("'{}' object has no attribute 'join'", glue.type_name()),
            )
        })?,
    };
    let text = match value {
        Value::Str(text) | Value::Markup(text) => text,
        Value::Undefined(undefined) => return Err(undefined.exception().into()),
        other => {
            return Err(Error::new(
                ErrorKind::Attribute,
                format!("'{}' object has no attribute 'splitlines'", other.type_name()),
            ));
        }
    };
    let width = int_argument(width, 79)?;
    let lines = split::split_lines(text.as_str(), false);
    if width <= 0 && !lines.is_empty() {
        return Err(Error::value_error(format!("invalid width {width} (must be > 0)")));
    }
    state.arena.meter().memory(text.len().saturating_mul(16))?;
    let wrapper = Wrapper {
        width: usize::try_from(width).unwrap_or(usize::MAX),
        break_long_words: is_set(break_long_words),
        break_on_hyphens: is_set(break_on_hyphens),
    };
    let mut builder = TextBuilder::new();
    for (i, (start, end)) in lines.into_iter().enumerate() {
        if i > 0 {
            builder.push(glue);
        }
        let chars: Vec<(usize, char)> = text.as_str()[start..end].char_indices().collect();
        for (j, line) in wrapper.wrap(&chars).into_iter().enumerate() {
            if j > 0 {
                state.arena.meter().memory(glue.len())?;
                builder.push(glue);
            }
            let byte = |at: usize| start + chars.get(at).map_or(end - start, |(at, _)| *at);
            builder.push(text.slice(byte(line.start), byte(line.end), state.arena));
        }
    }
    Ok(Value::Str(state.text(builder)?))
}

/// `textwrap.TextWrapper` with the settings that Jinja gives it.
struct Wrapper {
    width: usize,
    break_long_words: bool,
    break_on_hyphens: bool,
}

/// White space as `textwrap` has it.
fn is_gap(c: char) -> bool {
    matches!(c, '\t'..='\r' | ' ')
}

fn is_word(c: char) -> bool {
    is_alnum(c) || c == '_'
}

fn is_letter(c: char) -> bool {
    is_word(c) && decimal(c).is_none()
}

fn is_word_or_punctuation(c: char) -> bool {
    is_word(c) || matches!(c, '!' | '"' | '\'' | '&' | '.' | ',' | '?')
}

impl Wrapper {
    /// The lines, as ranges of characters.
    fn wrap(&self, text: &[(usize, char)]) -> Vec<Range<usize>> {
        let mut chunks = self.chunks(text);
        chunks.reverse();
        let is_blank = |chunk: &Range<usize>| text[chunk.clone()].iter().all(|(_, c)| is_space(*c));
        let mut lines: Vec<Range<usize>> = Vec::new();
        while let Some(next) = chunks.last() {
            if is_blank(next) && !lines.is_empty() {
                chunks.pop();
            }
            // The chunks of a line follow one another, so that the line is a range as well.
            let mut line: Vec<Range<usize>> = Vec::new();
            let mut len = 0;
            while let Some(next) = chunks.last().filter(|next| len + next.len() <= self.width) {
                len += next.len();
                line.push(next.clone());
                chunks.pop();
            }
            if let Some(next) = chunks.pop() {
                let left = self.width - len;
                if next.len() > self.width && self.break_long_words {
                    let end = next.start + self.break_at(&text[next.clone()], left);
                    line.push(next.start..end);
                    chunks.push(end..next.end);
                } else if next.len() > self.width && line.is_empty() {
                    line.push(next);
                } else {
                    chunks.push(next);
                }
            }
            if line.last().is_some_and(is_blank) {
                line.pop();
            }
            if let (Some(first), Some(last)) = (line.first(), line.last()) {
                lines.push(first.start..last.end);
            }
        }
        lines
    }

    /// How many characters of a word that is longer than a line go to the `left` places that the line has.
    fn break_at(&self, word: &[(usize, char)], left: usize) -> usize {
        let left = left.min(word.len());
        if self.break_on_hyphens
            && word.len() > left
            && let Some(hyphen) = word[..left].iter().rposition(|(_, c)| *c == '-')
            && hyphen > 0
            && word[..hyphen].iter().any(|(_, c)| *c != '-')
        {
            return hyphen + 1;
        }
        left
    }

    /// Words and the gaps between them; a word ends after a hyphen as well, or before a dash.
    fn chunks(&self, text: &[(usize, char)]) -> Vec<Range<usize>> {
        let at = |i: usize| text.get(i).map(|(_, c)| *c);
        let holds = |i: Option<usize>, what: fn(char) -> bool| i.and_then(at).is_some_and(what);
        // A dash of two or more hyphens between words, and where it ends.
        let dash = |i: usize| {
            let end = i + text[i..].iter().take_while(|(_, c)| *c == '-').count();
            (end - i >= 2 && holds(i.checked_sub(1), is_word_or_punctuation) && holds(Some(end), is_word))
                .then_some(end)
        };
        let after_hyphen = |i: usize| {
            let back = |steps: usize| i.checked_sub(steps);
            let before = (holds(back(1), is_letter) && holds(back(2), is_letter))
                || (holds(back(1), is_word_or_punctuation)
                    && back(2).and_then(at) == Some('-')
                    && holds(back(3), is_letter));
            let after = holds(Some(i + 1), is_letter)
                && (holds(Some(i + 2), is_letter) || (at(i + 2) == Some('-') && holds(Some(i + 3), is_letter)));
            before && after
        };
        let mut chunks = Vec::new();
        let mut start = 0;
        while start < text.len() {
            let mut end = start + 1;
            if holds(Some(start), is_gap) {
                while holds(Some(end), is_gap) {
                    end += 1;
                }
            } else if let Some(dash_end) = dash(start).filter(|_| self.break_on_hyphens) {
                end = dash_end;
            } else {
                while end < text.len() && !holds(Some(end), is_gap) {
                    if self.break_on_hyphens && at(end) == Some('-') {
                        if after_hyphen(end) {
                            end += 1;
                            break;
                        }
                        if dash(end).is_some() {
                            break;
                        }
                    }
                    end += 1;
                }
            }
            chunks.push(start..end);
            start = end;
        }
        chunks
    }
}

const PAGE_WIDTH: usize = 80;

pub(super) fn pprint<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let [] = args.bind("do_pprint", [], 0)?;
    let sorted = with_sorted_dicts(state, value, 0)?;
    let mut builder = TextBuilder::new();
    Pretty {
        builder: &mut builder,
        state,
    }
    .value(&sorted, 0, 0, 0)?;
    Ok(Value::Str(builder.finish(state.arena)))
}

/// The value with the entries of every dict sorted by key; keys without an order are sorted by type.
fn with_sorted_dicts<'a>(state: &mut State<'a>, value: Value<'a>, depth: usize) -> Result<Value<'a>> {
    if depth > MAX_NESTING {
        return Err(too_deep("while getting the repr of an object").into());
    }
    match value {
        // Its type has a `__repr__` of its own, which pprint uses as it is.
        Value::Tuple(list) if list.is_named() => Ok(value),
        Value::List(list) | Value::Tuple(list) => {
            let mut items = Vec::with_capacity(list.len());
            for item in list.items() {
                items.push(with_sorted_dicts(state, *item, depth + 1)?);
            }
            match value {
                Value::List(_) => state.list(&items),
                _ => state.tuple(&items),
            }
        }
        Value::Dict(dict) => {
            let mut entries = Vec::with_capacity(dict.len());
            for (key, value) in dict.entries() {
                entries.push((*key, with_sorted_dicts(state, *value, depth + 1)?));
            }
            sorted_by(state, &mut entries, &mut |a, b| match less(&a.0, &b.0, state.arena) {
                Err(exception) if exception.kind() == ExceptionKind::Type => Ok(a.0.type_name() < b.0.type_name()),
                other => Ok(other?),
            })?;
            state.arena.meter().memory(size_of_val(entries.as_slice()))?;
            Ok(Value::Dict(state.arena.dict(&mut entries, dict.origin())))
        }
        other => Ok(other),
    }
}

struct Pretty<'p, 'a> {
    builder: &'p mut TextBuilder,
    state: &'p State<'a>,
}

impl<'a> Pretty<'_, 'a> {
    fn spelled(&self, value: &Value<'a>) -> Result<Text<'a>> {
        let mut builder = TextBuilder::new();
        repr::push_repr(&mut builder, value, self.state, self.state.arena)?;
        Ok(builder.finish(self.state.arena))
    }

    fn punctuation(&mut self, text: &str) {
        self.builder.push_from(text, Origin::COMPUTED);
    }

    fn new_line(&mut self, indent: usize) -> Result<()> {
        self.state.arena.meter().memory(indent + 1)?;
        self.punctuation("\n");
        self.builder.pad(' ', indent, Origin::COMPUTED);
        Ok(())
    }

    /// `allowance` places are kept free at the end for closing brackets.
    fn value(&mut self, value: &Value<'a>, indent: usize, allowance: usize, level: usize) -> Result<()> {
        let spelled = self.spelled(value)?;
        if char_len(spelled.as_str()) + indent + allowance > PAGE_WIDTH {
            match value {
                Value::Dict(dict) if !dict.is_empty() => {
                    self.punctuation("{");
                    for (i, (key, item)) in dict.entries().iter().enumerate() {
                        if i > 0 {
                            self.punctuation(",");
                            self.new_line(indent + 1)?;
                        }
                        let key = self.spelled(key)?;
                        self.builder.push(key);
                        self.punctuation(": ");
                        let allowance = if i + 1 == dict.len() { allowance + 1 } else { 1 };
                        self.value(item, indent + 1 + char_len(key.as_str()) + 2, allowance, level + 1)?;
                    }
                    self.punctuation("}");
                    return Ok(());
                }
                Value::List(list) => {
                    self.punctuation("[");
                    self.items(list.items(), indent + 1, allowance + 1, level + 1)?;
                    self.punctuation("]");
                    return Ok(());
                }
                Value::Tuple(list) if !list.is_named() => {
                    let close = if list.len() == 1 { ",)" } else { ")" };
                    self.punctuation("(");
                    self.items(list.items(), indent + 1, allowance + close.len(), level + 1)?;
                    self.punctuation(close);
                    return Ok(());
                }
                Value::Str(text) if !text.is_empty() => return self.text(*text, indent, allowance, level + 1),
                _ => {}
            }
        }
        self.builder.push(spelled);
        Ok(())
    }

    fn items(&mut self, items: &[Value<'a>], indent: usize, allowance: usize, level: usize) -> Result<()> {
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                self.punctuation(",");
                self.new_line(indent)?;
            }
            let allowance = if i + 1 == items.len() { allowance } else { 1 };
            self.value(item, indent, allowance, level)?;
        }
        Ok(())
    }

    /// A text that is too long: one literal for each line of it, and for as many words as fit.
    fn text(&mut self, text: Text<'a>, mut indent: usize, mut allowance: usize, level: usize) -> Result<()> {
        let arena = self.state.arena;
        if level == 1 {
            indent += 1;
            allowance += 1;
        }
        let width = PAGE_WIDTH as i64 - indent as i64;
        let lines = split::split_lines(text.as_str(), true);
        let mut chunks: Vec<Text<'a>> = Vec::new();
        let mut last_line = Text::new("");
        for (i, &(start, end)) in lines.iter().enumerate() {
            let is_last = i + 1 == lines.len();
            let line_width = if is_last { width - allowance as i64 } else { width };
            last_line = self.spelled(&Value::Str(text.slice(start, end, arena)))?;
            if char_len(last_line.as_str()) as i64 <= line_width {
                chunks.push(last_line);
                continue;
            }
            let words = words_with_gaps(&text.as_str()[start..end]);
            let mut current = (start, start);
            for (j, word_end) in words.iter().enumerate() {
                let candidate = (current.0, start + word_end);
                let width = if is_last && j + 1 == words.len() {
                    width - allowance as i64
                } else {
                    width
                };
                let spelled = self.spelled(&Value::Str(text.slice(candidate.0, candidate.1, arena)))?;
                if char_len(spelled.as_str()) as i64 > width {
                    if current.1 > current.0 {
                        chunks.push(self.spelled(&Value::Str(text.slice(current.0, current.1, arena)))?);
                    }
                    current = (current.1, candidate.1);
                } else {
                    current = candidate;
                }
            }
            if current.1 > current.0 {
                chunks.push(self.spelled(&Value::Str(text.slice(current.0, current.1, arena)))?);
            }
        }
        if let [_] = chunks.as_slice() {
            self.builder.push(last_line);
            return Ok(());
        }
        if level == 1 {
            self.punctuation("(");
        }
        for (i, chunk) in chunks.into_iter().enumerate() {
            if i > 0 {
                self.new_line(indent)?;
            }
            self.builder.push(chunk);
        }
        if level == 1 {
            self.punctuation(")");
        }
        Ok(())
    }
}

/// Where each word ends together with the white space behind it.
fn words_with_gaps(line: &str) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut in_gap = false;
    for (at, c) in line.char_indices() {
        let gap = is_space(c);
        if in_gap && !gap {
            ends.push(at);
        }
        in_gap = gap;
    }
    if !line.is_empty() {
        ends.push(line.len());
    }
    ends
}
