//! Source text to tokens, one at a time: `jinja2/lexer.py` with the rules of its regular expressions written out.

use super::ast::{Const, Span};
use super::error::{SyntaxError, SyntaxErrorKind};
use super::literal;
use super::token::{Op, Token};
use crate::value::text::is_space;
use crate::value::unicode::{is_alnum, is_id_continue, is_id_start};

/// Where the lexer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Text.
    Text,
    /// Within `{{ }}`.
    Variable,
    /// Within `{% %}`.
    Block,
}

/// Sign at the inner side of a tag's border.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    None,
    /// `-`: white space on the other side goes.
    Strip,
    /// `+`: white space on the other side stays.
    Keep,
}

#[derive(Debug)]
pub(super) struct Lexer<'s> {
    source: &'s str,
    pos: usize,
    mode: Mode,
    /// The closing brackets that are due. A tag does not end while there are any.
    brackets: Vec<char>,
    /// Whether what came before the text at `pos` ended a line: an indented tag may then stand first in that text.
    line_starting: bool,
    /// The tag after the text that was just handed out.
    pending: Option<(Token<'s>, usize)>,
    /// The line of `counted`.
    line: u32,
    /// Up to where newlines are counted.
    counted: usize,
}

impl<'s> Lexer<'s> {
    pub(super) fn new(source: &'s str) -> Self {
        Lexer {
            source,
            pos: 0,
            mode: Mode::Text,
            brackets: Vec::new(),
            line_starting: true,
            pending: None,
            line: 1,
            counted: 0,
        }
    }

    /// The next token and where it begins; [`Token::Eof`] from the end on.
    pub(super) fn next(&mut self) -> Result<(Token<'s>, Span), SyntaxError> {
        let (token, offset) = match self.pending.take() {
            Some(pending) => pending,
            None if self.mode == Mode::Text => self.next_in_text()?,
            None => self.next_in_tag()?,
        };
        Ok((token, self.span(offset)))
    }

    fn span(&mut self, offset: usize) -> Span {
        // Tokens come in order; only an error can lie before the last one.
        if offset < self.counted {
            self.counted = 0;
            self.line = 1;
        }
        let newlines = self.source[self.counted..offset]
            .bytes()
            .filter(|&b| b == b'\n')
            .count();
        self.line = self.line.saturating_add(u32::try_from(newlines).unwrap_or(u32::MAX));
        self.counted = offset;
        Span {
            line: self.line,
            offset: u32::try_from(offset).unwrap_or(u32::MAX),
        }
    }

    fn error<T>(&mut self, kind: SyntaxErrorKind, offset: usize) -> Result<T, SyntaxError> {
        let span = self.span(offset);
        Err(SyntaxError::new(kind, span, self.source))
    }

    fn rest(&self) -> &'s str {
        &self.source[self.pos..]
    }

    /// Text up to the next tag, or that tag if there is no text.
    fn next_in_text(&mut self) -> Result<(Token<'s>, usize), SyntaxError> {
        loop {
            let start = self.pos;
            let Some(tag) = find_tag(self.source, start) else {
                self.pos = self.source.len();
                let text = &self.source[start..];
                let token = if text.is_empty() { Token::Eof } else { Token::Data(text) };
                return Ok((token, start));
            };
            let (sign, inside) = sign_at(self.source, tag + 2);
            let kind = self.source.as_bytes()[tag + 1];
            let text = self.strip_before(start, tag, sign, kind != b'{');
            self.line_starting = false;
            match kind {
                b'#' => self.skip_comment(tag, inside)?,
                b'%' => match after_raw_begin(self.source, inside) {
                    Some(content) => {
                        let raw = self.raw(tag, content)?;
                        // Text before the raw block and text in it are two tokens, as in Jinja.
                        match (text.is_empty(), raw) {
                            (true, Some((raw, at))) => return Ok((Token::Data(raw), at)),
                            (_, raw) => self.pending = raw.map(|(raw, at)| (Token::Data(raw), at)),
                        }
                    }
                    None => {
                        self.pos = inside;
                        self.mode = Mode::Block;
                        self.pending = Some((Token::BlockBegin, tag));
                    }
                },
                _ => {
                    self.pos = inside;
                    self.mode = Mode::Variable;
                    self.pending = Some((Token::VariableBegin, tag));
                }
            }
            if !text.is_empty() {
                return Ok((Token::Data(text), start));
            }
            if let Some(pending) = self.pending.take() {
                return Ok(pending);
            }
        }
    }

    /// The text from `start` to the tag at `tag`, without the white space that the tag removes.
    fn strip_before(&self, start: usize, tag: usize, sign: Sign, lstrip: bool) -> &'s str {
        let text = &self.source[start..tag];
        match sign {
            Sign::Strip => text.trim_end_matches(is_space),
            Sign::None if lstrip => {
                let line = text.rfind('\n').map_or(0, |newline| newline + 1);
                if (line > 0 || self.line_starting) && text[line..].chars().all(is_space) {
                    &text[..line]
                } else {
                    text
                }
            }
            Sign::None | Sign::Keep => text,
        }
    }

    /// Goes past the end of the comment that begins at `tag` and whose content begins at `inside`.
    fn skip_comment(&mut self, tag: usize, inside: usize) -> Result<(), SyntaxError> {
        let Some(length) = self.source[inside..].find("#}") else {
            // Jinja misses the end only if there is a character that could be part of the comment.
            if inside == self.source.len() {
                self.pos = inside;
                return Ok(());
            }
            return self.error(SyntaxErrorKind::UnclosedComment, tag);
        };
        let border = inside + length;
        let sign = match self.source[inside..border].as_bytes().last() {
            Some(b'-') => Sign::Strip,
            Some(b'+') => Sign::Keep,
            _ => Sign::None,
        };
        self.leave_tag(border + 2, sign, true);
        Ok(())
    }

    /// The content of the raw block that begins at `tag` and whose content begins at `start`.
    fn raw(&mut self, tag: usize, start: usize) -> Result<Option<(&'s str, usize)>, SyntaxError> {
        self.line_starting = self.source[..start].ends_with('\n');
        let mut from = start;
        while let Some(at) = self.source[from..].find("{%").map(|at| from + at) {
            let (sign, inside) = sign_at(self.source, at + 2);
            if let Some((end, end_sign)) = after_raw_end(self.source, inside) {
                let text = self.strip_before(start, at, sign, true);
                self.leave_tag(end, end_sign, true);
                return Ok((!text.is_empty()).then_some((text, start)));
            }
            from = at + 2;
        }
        if start == self.source.len() {
            self.pos = start;
            return Ok(None);
        }
        self.error(SyntaxErrorKind::UnclosedRaw, tag)
    }

    /// Goes on behind a tag that ends at `end`, and behind the white space that its end removes.
    fn leave_tag(&mut self, end: usize, sign: Sign, trim: bool) {
        let rest = &self.source[end..];
        self.pos = match sign {
            Sign::Strip => self.source.len() - rest.trim_start_matches(is_space).len(),
            Sign::None if trim && rest.starts_with('\n') => end + 1,
            Sign::None | Sign::Keep => end,
        };
        self.line_starting = self.source[..self.pos].ends_with('\n');
        self.mode = Mode::Text;
    }

    fn next_in_tag(&mut self) -> Result<(Token<'s>, usize), SyntaxError> {
        if self.brackets.is_empty()
            && let Some(end) = self.tag_end()
        {
            return Ok(end);
        }
        let spaces = self.rest().len() - self.rest().trim_start_matches(is_space).len();
        if spaces > 0 {
            self.pos += spaces;
            if self.brackets.is_empty()
                && let Some(end) = self.tag_end()
            {
                return Ok(end);
            }
        }
        let at = self.pos;
        let Some(c) = self.rest().chars().next() else {
            return Ok((Token::Eof, at));
        };
        if let Some((end, is_float)) = literal::number_end(self.source, at) {
            self.pos = end;
            return match literal::number(&self.source[at..end], is_float) {
                Ok(number) => Ok((Token::Literal(number), at)),
                Err(error) => self.error(SyntaxErrorKind::InvalidNumber(error), at),
            };
        }
        if is_word(c) {
            let rest = self.rest();
            let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            self.pos += length;
            let name = &rest[..length];
            if !is_id_start(c) || !name.chars().all(is_id_continue) {
                return self.error(SyntaxErrorKind::InvalidIdentifier, at);
            }
            return Ok((Token::Name(name), at));
        }
        if let Some(length) = string_length(self.rest()) {
            self.pos += length;
            return match literal::unescape(&self.source[at + 1..self.pos - 1]) {
                Ok(text) => Ok((Token::Literal(Const::Str(text)), at)),
                Err(error) => self.error(SyntaxErrorKind::InvalidEscape(error), at),
            };
        }
        let Some(op) = Op::at_start_of(self.rest()) else {
            return self.error(SyntaxErrorKind::UnexpectedChar(c), at);
        };
        match op {
            Op::LBrace => self.brackets.push('}'),
            Op::LParen => self.brackets.push(')'),
            Op::LBracket => self.brackets.push(']'),
            Op::RBrace | Op::RParen | Op::RBracket => match self.brackets.pop() {
                None => return self.error(SyntaxErrorKind::UnopenedBracket(c), at),
                Some(expected) if expected != c => {
                    return self.error(SyntaxErrorKind::MismatchedBracket { found: c, expected }, at);
                }
                Some(_) => {}
            },
            _ => {}
        }
        self.pos += op.as_str().len();
        Ok((Token::Op(op), at))
    }

    /// The end of the tag, if it is here.
    fn tag_end(&mut self) -> Option<(Token<'s>, usize)> {
        let at = self.pos;
        let (sign, border) = sign_at(self.source, at);
        let rest = &self.source[border..];
        if self.mode == Mode::Block && rest.starts_with("%}") {
            self.leave_tag(border + 2, sign, true);
            return Some((Token::BlockEnd, at));
        }
        // There is no `+}}`, and no newline is removed after `}}`.
        if self.mode == Mode::Variable && sign != Sign::Keep && rest.starts_with("}}") {
            self.leave_tag(border + 2, sign, false);
            return Some((Token::VariableEnd, at));
        }
        None
    }
}

/// What Jinja's pattern for names takes: `\w` and what else can be in an identifier. Some of it cannot (`²`), which is
/// an error of its own.
fn is_word(c: char) -> bool {
    is_id_continue(c) || is_alnum(c)
}

/// The place of the next `{{`, `{%` or `{#`.
fn find_tag(source: &str, from: usize) -> Option<usize> {
    let bytes = source.as_bytes();
    let mut at = from;
    loop {
        at += source[at..].find('{')?;
        if matches!(bytes.get(at + 1), Some(b'{' | b'%' | b'#')) {
            return Some(at);
        }
        at += 1;
    }
}

fn sign_at(source: &str, at: usize) -> (Sign, usize) {
    match source.as_bytes().get(at) {
        Some(b'-') => (Sign::Strip, at + 1),
        Some(b'+') => (Sign::Keep, at + 1),
        _ => (Sign::None, at),
    }
}

/// Where the content of a raw block begins, if `raw %}` or `raw -%}` follows at `at`.
fn after_raw_begin(source: &str, at: usize) -> Option<usize> {
    let rest = source[at..].trim_start_matches(is_space).strip_prefix("raw")?;
    let rest = rest.trim_start_matches(is_space);
    let rest = match rest.strip_prefix("-%}") {
        Some(rest) => rest.trim_start_matches(is_space),
        None => rest.strip_prefix("%}")?,
    };
    Some(source.len() - rest.len())
}

/// Where `endraw %}` ends and with which sign, if it follows at `at`.
fn after_raw_end(source: &str, at: usize) -> Option<(usize, Sign)> {
    let rest = source[at..].trim_start_matches(is_space).strip_prefix("endraw")?;
    let rest = rest.trim_start_matches(is_space);
    let (sign, border) = sign_at(source, source.len() - rest.len());
    source[border..].starts_with("%}").then_some((border + 2, sign))
}

/// The length of the string literal that `text` begins with, quotes included.
fn string_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let quote = *bytes.first().filter(|b| matches!(b, b'"' | b'\''))?;
    let mut at = 1;
    loop {
        match bytes.get(at)? {
            b'\\' => at += 2,
            &b if b == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
}
