//! Characters as CPython 3.11 classifies and converts them (Unicode 14.0.0).
//!
//! Rust's own `char` methods follow a later Unicode and other rules; a template must see what it sees in Python.

mod tables;

use tables::CaseRun;

fn holds(borders: &[u32], c: char) -> bool {
    borders.partition_point(|&border| border <= c as u32) % 2 == 1
}

/// `str.isprintable` of one character: what `repr` does not escape.
pub fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return matches!(c, ' '..='~');
    }
    holds(tables::PRINTABLE, c)
}

/// `str.isalpha` of one character.
pub fn is_alpha(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphabetic();
    }
    holds(tables::ALPHA, c)
}

/// The value of a decimal digit of any script; `str.isdecimal` of one character asks whether there is one.
pub fn decimal(c: char) -> Option<u32> {
    if c.is_ascii() {
        return c.to_digit(10);
    }
    let at = tables::ZEROS.partition_point(|&zero| zero <= c as u32);
    let digit = c as u32 - tables::ZEROS[at.checked_sub(1)?];
    (digit < 10).then_some(digit)
}

/// `str.isdigit` of one character.
pub fn is_digit(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_digit();
    }
    holds(tables::DIGIT, c)
}

/// `str.isnumeric` of one character.
pub fn is_numeric(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_digit();
    }
    holds(tables::NUMERIC, c)
}

/// `str.isalnum` of one character.
pub fn is_alnum(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric();
    }
    // What is decimal or a digit is numeric as well.
    is_alpha(c) || is_numeric(c)
}

/// `str.isupper` of one character.
pub fn is_upper(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_uppercase();
    }
    holds(tables::UPPER, c)
}

/// `str.islower` of one character.
pub fn is_lower(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_lowercase();
    }
    holds(tables::LOWER, c)
}

/// Whether `c` is a title case character proper, such as U+01C5.
pub fn is_title(c: char) -> bool {
    !c.is_ascii() && holds(tables::TITLE, c)
}

/// Whether `c` has case, so that `str.title` goes on in lower case after it.
pub fn is_cased(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphabetic();
    }
    holds(tables::CASED, c)
}

fn is_case_ignorable(c: char) -> bool {
    holds(tables::CASE_IGNORABLE, c)
}

/// Whether an identifier may start with `c`.
pub fn is_id_start(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphabetic() || c == '_';
    }
    holds(tables::ID_START, c)
}

/// Whether an identifier may go on with `c`.
pub fn is_id_continue(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || c == '_';
    }
    holds(tables::ID_CONTINUE, c)
}

/// `str.isidentifier`.
pub fn is_identifier(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(is_id_start) && chars.all(is_id_continue)
}

/// Whether Python breaks lines at `c` (`str.splitlines`).
pub fn is_line_break(c: char) -> bool {
    matches!(c, '\n'..='\r' | '\x1c'..='\x1e' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// What a character becomes: one character or several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mapped {
    /// One character, the same one if nothing changes.
    One(char),
    /// Several characters.
    Many(&'static str),
}

fn map(runs: &[CaseRun], many: &'static [(u32, &'static str)], c: char) -> Mapped {
    let code = c as u32;
    let after = runs.partition_point(|run| run.0 <= code);
    if let Some(&(first, last, step, delta)) = runs[..after].last()
        && code <= last
        && (code - first) % step == 0
    {
        return Mapped::One(code.checked_add_signed(delta).and_then(char::from_u32).unwrap_or(c));
    }
    match many.binary_search_by_key(&code, |&(from, _)| from) {
        Ok(at) => Mapped::Many(many[at].1),
        Err(_) => Mapped::One(c),
    }
}

/// `str.upper` of one character.
pub fn to_upper(c: char) -> Mapped {
    if c.is_ascii() {
        return Mapped::One(c.to_ascii_uppercase());
    }
    map(tables::TO_UPPER, tables::TO_UPPER_MANY, c)
}

/// `str.lower` of one character; a capital sigma may need [`is_final_sigma`].
pub fn to_lower(c: char) -> Mapped {
    if c.is_ascii() {
        return Mapped::One(c.to_ascii_lowercase());
    }
    map(tables::TO_LOWER, tables::TO_LOWER_MANY, c)
}

/// `str.title` of one character.
pub fn to_title(c: char) -> Mapped {
    if c.is_ascii() {
        return Mapped::One(c.to_ascii_uppercase());
    }
    map(tables::TO_TITLE, tables::TO_TITLE_MANY, c)
}

/// `str.casefold` of one character.
pub fn fold(c: char) -> Mapped {
    if c.is_ascii() {
        return Mapped::One(c.to_ascii_lowercase());
    }
    map(tables::FOLD, tables::FOLD_MANY, c)
}

/// Whether the capital sigma between `before` and `after` ends a word, so that its lower case is U+03C2.
pub fn is_final_sigma(before: &str, after: &str) -> bool {
    let cased = |c: Option<char>| c.is_some_and(is_cased);
    cased(before.chars().rev().find(|&c| !is_case_ignorable(c)))
        && !cased(after.chars().find(|&c| !is_case_ignorable(c)))
}
