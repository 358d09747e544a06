//! Formatting: `%`, and the format specifications of `str.format`.

mod decimal;
mod percent;
mod spec;

pub use percent::percent;
pub(crate) use percent::to_ascii;
pub use spec::push_formatted;

use super::Exception;

/// The largest width and precision that are taken (a C int in CPython).
const MAX_WIDTH: u64 = i32::MAX as u64;

/// `OverflowError` of `%c` and of the type `c`.
#[cold]
fn not_a_character() -> Exception {
    Exception::new(super::ExceptionKind::Overflow, "%c arg not in range(0x110000)")
}
