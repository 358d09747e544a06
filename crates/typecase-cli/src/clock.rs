//! The clock that templates see; the library has none of its own.

use jiff::ZonedDateTime;
use jiff::civil::{Date, DateTime};
use typecase::format::LocalTime;

/// The local time of this moment.
pub(crate) fn local_time() -> LocalTime {
    let now = ZonedDateTime::now();
    let timestamp = now.timestamp();
    let (second, microsecond) = (timestamp.as_second(), timestamp.subsec_microsecond());
    // Before 1970 a timestamp counts both parts down.
    let (second, microsecond) = match u32::try_from(microsecond) {
        Ok(microsecond) => (second, microsecond),
        Err(_) => (second - 1, (1_000_000 + microsecond) as u32),
    };
    LocalTime::from_unix(second, microsecond, now.offset().seconds())
}

/// Reads a local time: `2026-03-14T15:09:26.535897`, `2026-03-14 15:09` or `2026-03-14`.
pub(crate) fn parse(text: &str) -> Result<LocalTime, String> {
    let time = match text.parse::<DateTime>() {
        Ok(time) => time,
        Err(err) => match text.parse::<Date>() {
            Ok(date) => date.at(0, 0, 0, 0),
            Err(_) => return Err(err.to_string()),
        },
    };
    let year = u16::try_from(time.year()).ok().filter(|year| *year > 0);
    // Month to second are in range, and none is negative.
    Ok(LocalTime {
        year: year.ok_or("the year has to be from 1 to 9999")?,
        month: time.month() as u8,
        day: time.day() as u8,
        hour: time.hour() as u8,
        minute: time.minute() as u8,
        second: time.second() as u8,
        microsecond: (time.subsec_nanosecond() / 1000) as u32,
        utc_offset_seconds: 0,
    })
}
