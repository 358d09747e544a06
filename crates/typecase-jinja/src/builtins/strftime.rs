//! `strftime_now`: `datetime.now().strftime(format)` in the C locale, with the clock of the caller.
//!
//! Directives are those of glibc, which Python hands the format to, `%f` that Python adds, and glibc's flags
//! (`%-d`) and widths (`%3d`). The time is naive, so `%z` and `%Z` are empty.

use crate::value::{Exception, Meter, Origin, Text, TextBuilder};
use std::fmt::Write as _;

/// A moment as a clock on the wall shows it: what `datetime.now()` returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalTime {
    /// From 1 to 9999.
    pub year: u16,
    /// From 1 to 12.
    pub month: u8,
    /// From 1 to 31.
    pub day: u8,
    /// From 0 to 23.
    pub hour: u8,
    /// From 0 to 59.
    pub minute: u8,
    /// From 0 to 59.
    pub second: u8,
    /// From 0 to 999999.
    pub microsecond: u32,
    /// What the clock is ahead of UTC by; only `%s` shows it.
    pub utc_offset_seconds: i32,
}

const DAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

impl LocalTime {
    /// The moment so many seconds after 1970-01-01 00:00 UTC, on a clock that is ahead of UTC by `utc_offset_seconds`.
    pub fn from_unix(seconds: i64, microsecond: u32, utc_offset_seconds: i32) -> Self {
        let local = seconds + i64::from(utc_offset_seconds);
        let (days, rest) = (local.div_euclid(86_400), local.rem_euclid(86_400));
        // Counting from 1 March makes the leap day the last of its year.
        let days = days + 719_468;
        let era = days.div_euclid(146_097);
        let day_of_era = days.rem_euclid(146_097);
        let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month + 2) / 5 + 1;
        let month = if month < 10 { month + 3 } else { month - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        LocalTime {
            year: year.clamp(1, 9999) as u16,
            month: month as u8,
            day: day as u8,
            hour: (rest / 3_600) as u8,
            minute: (rest / 60 % 60) as u8,
            second: (rest % 60) as u8,
            microsecond,
            utc_offset_seconds,
        }
    }

    fn days_since_epoch(&self) -> i64 {
        let year = i64::from(self.year) - i64::from(self.month <= 2);
        let month = (i64::from(self.month) + 9) % 12;
        let day_of_year = (153 * month + 2) / 5 + i64::from(self.day) - 1;
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
    }

    /// Sunday is 0.
    fn weekday(&self) -> i64 {
        (self.days_since_epoch() + 4).rem_euclid(7)
    }

    /// 1 January is 0.
    fn day_of_year(&self) -> i64 {
        let first = LocalTime {
            month: 1,
            day: 1,
            ..*self
        };
        self.days_since_epoch() - first.days_since_epoch()
    }

    /// The year and the week of ISO 8601.
    fn iso_week(&self) -> (i64, i64) {
        let weekday = (self.weekday() + 6) % 7;
        let year = i64::from(self.year);
        let week = (self.day_of_year() - weekday + 10) / 7;
        let weeks_in = |year: i64| {
            let last = LocalTime {
                year: year.clamp(1, 9999) as u16,
                month: 12,
                day: 31,
                ..*self
            };
            let first = LocalTime {
                month: 1,
                day: 1,
                ..last
            };
            if last.weekday() == 4 || first.weekday() == 4 {
                53
            } else {
                52
            }
        };
        if week < 1 {
            (year - 1, weeks_in(year - 1))
        } else if week > weeks_in(year) {
            (year + 1, 1)
        } else {
            (year, week)
        }
    }
}

/// How a directive pads and cases what it prints.
#[derive(Clone, Copy, Default)]
struct Flags {
    pad: Option<char>,
    upper: bool,
    swap: bool,
    width: usize,
}

/// Units of work that a directive costs: those of the week look at several years.
const WORK: usize = 32;

/// `now.strftime(format)`
///
/// # Errors
/// [`ExceptionKind::Limit`](crate::value::ExceptionKind::Limit) if `meter` has too little left.
pub(crate) fn format(
    format: Text<'_>,
    now: &LocalTime,
    meter: &Meter,
    builder: &mut TextBuilder,
) -> Result<(), Exception> {
    let text = format.as_str();
    meter.scan(text.len())?;
    let mut literals = Literals::new(format);
    let mut at = 0;
    let mut printed = String::new();
    while let Some(found) = text[at..].find('%') {
        meter.work(WORK)?;
        let percent = at + found;
        let mut flags = Flags::default();
        let mut directive = None;
        for (i, c) in text[percent + 1..].char_indices() {
            match c {
                '-' | '_' | '0' if flags.width == 0 => flags.pad = Some(c),
                '^' => flags.upper = true,
                '#' => flags.swap = true,
                '0'..='9' => flags.width = (flags.width * 10 + c as usize - '0' as usize).min(1023),
                'E' | 'O' => {}
                c => {
                    directive = Some((c, percent + 1 + i + c.len_utf8()));
                    break;
                }
            }
        }
        let Some((directive, end)) = directive else { break };
        printed.clear();
        if print(&mut printed, directive, flags, now) {
            literals.push(percent, builder);
            meter.memory(printed.len())?;
            builder.push_from(&printed, Origin::COMPUTED);
            literals.at = end;
        }
        at = end;
    }
    literals.push(text.len(), builder);
    Ok(())
}

/// What of a format is no directive, from left to right. A format may have a run for each of its characters.
struct Literals<'a> {
    /// Where each run begins, and the run.
    runs: Vec<(usize, &'a str, Origin)>,
    /// The run in which `at` is, or one before it.
    run: usize,
    /// Up to where all was pushed or was a directive.
    at: usize,
}

impl<'a> Literals<'a> {
    fn new(format: Text<'a>) -> Self {
        let (mut runs, mut start) = (Vec::new(), 0);
        format.for_each_run(|text, origin| {
            runs.push((start, text, origin));
            start += text.len();
        });
        Literals { runs, run: 0, at: 0 }
    }

    /// Pushes what lies before `end`.
    fn push(&mut self, end: usize, builder: &mut TextBuilder) {
        while let Some(&(start, text, origin)) = self.runs.get(self.run) {
            let (from, to) = (start.max(self.at), end.min(start + text.len()));
            if from < to {
                builder.push_from(&text[from - start..to - start], origin.plus(from - start));
            }
            if end < start + text.len() {
                break;
            }
            self.run += 1;
        }
    }
}

/// Prints one directive; `false` if there is none of this letter.
fn print(out: &mut String, directive: char, flags: Flags, now: &LocalTime) -> bool {
    let number = |out: &mut String, value: i64, width: usize, pad: char| {
        let pad = match flags.pad {
            Some('-') => None,
            Some('_') => Some(' '),
            Some(_) => Some('0'),
            None => Some(pad),
        };
        let digits = value.to_string();
        let width = if flags.width > 0 { flags.width } else { width };
        if let Some(pad) = pad {
            out.extend(std::iter::repeat_n(pad, width.saturating_sub(digits.len())));
        }
        out.push_str(&digits);
    };
    let name = |out: &mut String, name: &str| {
        let pad = if flags.pad == Some('0') { '0' } else { ' ' };
        out.extend(std::iter::repeat_n(pad, flags.width.saturating_sub(name.len())));
        if flags.upper || (flags.swap && directive != 'p') {
            out.push_str(&name.to_ascii_uppercase());
        } else if flags.swap {
            out.push_str(&name.to_ascii_lowercase());
        } else {
            out.push_str(name);
        }
    };
    let composite = |out: &mut String, directives: &str| {
        let mut text = String::new();
        for part in directives.split_inclusive(|c: char| c.is_ascii_alphabetic()) {
            let (separator, directive) = part.split_at(part.len() - 1);
            text.push_str(separator);
            print(
                &mut text,
                directive.chars().next().unwrap_or('%'),
                Flags::default(),
                now,
            );
        }
        name(out, &text);
    };
    let (year, month, day) = (i64::from(now.year), i64::from(now.month), i64::from(now.day));
    let (hour, minute, second) = (i64::from(now.hour), i64::from(now.minute), i64::from(now.second));
    let hour12 = if hour % 12 == 0 { 12 } else { hour % 12 };
    let weekday = now.weekday();
    let month_name = MONTHS[(usize::from(now.month).max(1) - 1) % 12];
    match directive {
        'a' => name(out, &DAYS[weekday as usize][..3]),
        'A' => name(out, DAYS[weekday as usize]),
        'b' | 'h' => name(out, &month_name[..3]),
        'B' => name(out, month_name),
        'c' => {
            let mut text = String::new();
            let _ = write!(
                text,
                "{} {} {day:>2} {hour:02}:{minute:02}:{second:02} {year}",
                &DAYS[weekday as usize][..3],
                &month_name[..3]
            );
            name(out, &text);
        }
        'C' => number(out, year / 100, 2, '0'),
        'd' => number(out, day, 2, '0'),
        'D' | 'x' => composite(out, "m/d/y"),
        'e' => number(out, day, 2, ' '),
        'f' => {
            let _ = write!(out, "{:06}", now.microsecond);
        }
        'F' => composite(out, "Y-m-d"),
        'g' => number(out, now.iso_week().0 % 100, 2, '0'),
        'G' => number(out, now.iso_week().0, 1, '0'),
        'H' => number(out, hour, 2, '0'),
        'I' => number(out, hour12, 2, '0'),
        'j' => number(out, now.day_of_year() + 1, 3, '0'),
        'k' => number(out, hour, 2, ' '),
        'l' => number(out, hour12, 2, ' '),
        'm' => number(out, month, 2, '0'),
        'M' => number(out, minute, 2, '0'),
        'n' => out.push('\n'),
        'p' => name(out, if hour < 12 { "AM" } else { "PM" }),
        'P' => name(out, if hour < 12 { "am" } else { "pm" }),
        'r' => composite(out, "I:M:S p"),
        'R' => composite(out, "H:M"),
        's' => number(
            out,
            now.days_since_epoch() * 86_400 + hour * 3_600 + minute * 60 + second - i64::from(now.utc_offset_seconds),
            1,
            '0',
        ),
        'S' => number(out, second, 2, '0'),
        't' => out.push('\t'),
        'T' | 'X' => composite(out, "H:M:S"),
        'u' => number(out, if weekday == 0 { 7 } else { weekday }, 1, '0'),
        'U' => number(out, (now.day_of_year() + 7 - weekday) / 7, 2, '0'),
        'V' => number(out, now.iso_week().1, 2, '0'),
        'w' => number(out, weekday, 1, '0'),
        'W' => number(out, (now.day_of_year() + 7 - (weekday + 6) % 7) / 7, 2, '0'),
        'y' => number(out, year % 100, 2, '0'),
        'Y' => number(out, year, 1, '0'),
        'z' | 'Z' => {}
        '%' => out.push('%'),
        _ => return false,
    }
    true
}

#[cfg(test)]
mod unit_tests {
    use super::*;
    use crate::value::Arena;

    fn spelled(text: &str) -> String {
        let now = LocalTime {
            year: 2026,
            month: 3,
            day: 4,
            hour: 15,
            minute: 9,
            second: 26,
            microsecond: 535_897,
            utc_offset_seconds: 0,
        };
        let arena = Arena::new();
        let mut builder = TextBuilder::new();
        format(Text::new(text), &now, arena.meter(), &mut builder).expect("little work");
        builder.finish(&arena).as_str().to_owned()
    }

    /// `datetime(2026, 3, 4, 15, 9, 26, 535897).strftime(...)` of CPython 3.11 with glibc.
    #[test]
    fn prints_as_glibc_does() {
        for (format, python) in [
            ("%d %b %Y", "04 Mar 2026"),
            ("%-d/%-m %e|%k|%l", "4/3  4|15| 3"),
            ("%A, %B %d, %Y at %I:%M %p", "Wednesday, March 04, 2026 at 03:09 PM"),
            (
                "%F %T.%f %D %R %r",
                "2026-03-04 15:09:26.535897 03/04/26 15:09 03:09:26 PM",
            ),
            ("%c|%x|%X", "Wed Mar  4 15:09:26 2026|03/04/26|15:09:26"),
            ("%j %U %W %V %G %g %u %w %C %y", "063 09 09 10 2026 26 3 3 20 26"),
            ("%z%Z%%%n%t|%P|%h", "%\n\t|pm|Mar"),
            ("%^a %#p %5d %_5d %Q 100%", "WED pm 00004     4 %Q 100%"),
            ("%s", "1772636966"),
        ] {
            assert_eq!(spelled(format), python, "{format}");
        }
    }
}
