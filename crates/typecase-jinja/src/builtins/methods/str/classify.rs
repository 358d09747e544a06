//! `isalnum` and its kin.

use super::receiver;
use crate::builtins::Args;
use crate::builtins::convert::plain;
use crate::error::Result;
use crate::value::text::is_space;
use crate::value::{Origin, Value, unicode};
use crate::vm::State;

/// Defines methods without arguments that ask something of the whole text.
macro_rules! questions {
    ($($name:ident: $holds:expr;)*) => {
        $(pub(super) fn $name<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
            plain(args, "str", stringify!($name), 0, 0)?;
            let text = receiver(&value).as_str();
            state.arena.meter().scan(text.len())?;
            let holds: fn(&str) -> bool = $holds;
            Ok(Value::Bool(holds(text), Origin::COMPUTED))
        })*
    };
}

/// Python's questions about all characters are false for no characters.
fn all(text: &str, holds: fn(char) -> bool) -> bool {
    !text.is_empty() && text.chars().all(holds)
}

/// Whether the text has a character in `wanted` case and none in the other.
fn is_all_case(text: &str, wanted: fn(char) -> bool, other: fn(char) -> bool) -> bool {
    let mut found = false;
    for c in text.chars() {
        if other(c) || unicode::is_title(c) {
            return false;
        }
        found |= wanted(c);
    }
    found
}

/// `str.islower`
pub(crate) fn is_lower(text: &str) -> bool {
    is_all_case(text, unicode::is_lower, unicode::is_upper)
}

/// `str.isupper`
pub(crate) fn is_upper(text: &str) -> bool {
    is_all_case(text, unicode::is_upper, unicode::is_lower)
}

fn is_title(text: &str) -> bool {
    let (mut found, mut in_word) = (false, false);
    for c in text.chars() {
        if unicode::is_upper(c) || unicode::is_title(c) {
            if in_word {
                return false;
            }
            in_word = true;
            found = true;
        } else if unicode::is_lower(c) {
            if !in_word {
                return false;
            }
            found = true;
        } else {
            in_word = false;
        }
    }
    found
}

questions! {
    isalnum: |text| all(text, unicode::is_alnum);
    isalpha: |text| all(text, unicode::is_alpha);
    isascii: str::is_ascii;
    isdecimal: |text| all(text, |c| unicode::decimal(c).is_some());
    isdigit: |text| all(text, unicode::is_digit);
    isidentifier: unicode::is_identifier;
    islower: is_lower;
    isnumeric: |text| all(text, unicode::is_numeric);
    isprintable: |text| text.chars().all(unicode::is_printable);
    isspace: |text| all(text, is_space);
    istitle: is_title;
    isupper: is_upper;
}
