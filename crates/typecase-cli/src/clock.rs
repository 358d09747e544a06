//! The clock that templates see; the library has none of its own.

use jiff::ZonedDateTime;
use typecase::RenderOptions;
use typecase::format::LocalTime;

/// Options with the local time of now.
pub(crate) fn render_options() -> RenderOptions {
    let now = ZonedDateTime::now();
    let timestamp = now.timestamp();
    let (second, microsecond) = (timestamp.as_second(), timestamp.subsec_microsecond());
    // Before 1970 a timestamp counts both parts down.
    let (second, microsecond) = match u32::try_from(microsecond) {
        Ok(microsecond) => (second, microsecond),
        Err(_) => (second - 1, (1_000_000 + microsecond) as u32),
    };
    RenderOptions::default().now(LocalTime::from_unix(second, microsecond, now.offset().seconds()))
}
