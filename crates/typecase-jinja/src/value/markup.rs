//! `markupsafe`: escaping text for HTML.

use super::{Arena, Exception, Origin, Text, TextBuilder};

/// What a character is escaped as, if it is.
fn entity(byte: u8) -> Option<&'static str> {
    Some(match byte {
        b'&' => "&amp;",
        b'<' => "&lt;",
        b'>' => "&gt;",
        b'"' => "&#34;",
        b'\'' => "&#39;",
        _ => return None,
    })
}

/// `markupsafe.escape(text)` of a plain `str`. An entity comes from the character that it stands for.
///
/// # Errors
/// A spent meter.
pub fn escape<'a>(text: Text<'a>, arena: &'a Arena) -> Result<Text<'a>, Exception> {
    arena.meter().scan(text.len())?;
    if !text.as_str().bytes().any(|byte| entity(byte).is_some()) {
        return Ok(text);
    }
    let mut builder = TextBuilder::new();
    push_escaped(&mut builder, text);
    arena.meter().memory(builder.len())?;
    Ok(builder.finish(arena))
}

/// Appends the escaped `text`.
pub(crate) fn push_escaped(builder: &mut TextBuilder, text: Text<'_>) {
    text.for_each_run(|bytes, origin| {
        let mut start = 0;
        for (at, byte) in bytes.bytes().enumerate() {
            if let Some(entity) = entity(byte) {
                builder.push_from(&bytes[start..at], origin.plus(start));
                builder.push_from(entity, origin.plus(at));
                start = at + 1;
            }
        }
        builder.push_from(&bytes[start..], origin.plus(start));
    });
}
