//! The clock of the cases: what they say, never that of the machine.

use anyhow::{Context, Result};
use typecase::RenderOptions;
use typecase::format::LocalTime;

/// Options under which it is `now`, local, ISO 8601. Without it there is no clock.
pub(crate) fn options_at(now: Option<&str>) -> Result<RenderOptions> {
    let options = RenderOptions::default();
    match now {
        None => Ok(options),
        Some(now) => Ok(options.now(parse(now).with_context(|| format!("no time: {now:?}"))?)),
    }
}

/// Reads `2026-03-14T15:09:26.535897`; the fraction may be missing.
fn parse(text: &str) -> Option<LocalTime> {
    let (date, time) = text.split_once(['T', ' '])?;
    let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
    let date: Vec<&str> = date.split('-').collect();
    let time: Vec<&str> = time.split(':').collect();
    let ([year, month, day], [hour, minute, second]) = (date.as_slice(), time.as_slice()) else {
        return None;
    };
    if fraction.len() > 6 {
        return None;
    }
    Some(LocalTime {
        year: year.parse().ok()?,
        month: month.parse().ok()?,
        day: day.parse().ok()?,
        hour: hour.parse().ok()?,
        minute: minute.parse().ok()?,
        second: second.parse().ok()?,
        microsecond: format!("{fraction:0<6}").parse().ok()?,
        utc_offset_seconds: 0,
    })
}
