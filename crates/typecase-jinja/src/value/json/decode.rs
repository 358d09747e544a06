//! Strings with escapes to the text that they stand for.

#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;

use super::ParseErrorKind;
use super::scan::plain_len;

/// A string that was decoded.
pub(super) struct Decoded {
    /// Its bytes.
    pub(super) len: usize,
    /// Where in the text the closing quote stands.
    pub(super) end: usize,
}

/// How far decoding came: bytes of the text that were read, and of the string that were written.
#[derive(Clone, Copy, Default)]
struct Progress {
    read: usize,
    written: usize,
}

/// Decodes the string that starts at the front of `text` to the front of `room`, which is at least as long: what an
/// escape stands for is never longer than it. Bytes of `room` behind the string may be written too.
///
/// # Errors
/// What is wrong, and where in `text`.
pub(super) fn decode(text: &[u8], room: &mut [u8]) -> Result<Decoded, (ParseErrorKind, usize)> {
    decode_with(blocks, text, room)
}

#[inline(always)]
fn decode_with(
    blocks: impl Fn(&[u8], &mut [u8], &mut Progress),
    text: &[u8],
    room: &mut [u8],
) -> Result<Decoded, (ParseErrorKind, usize)> {
    let mut at = Progress::default();
    loop {
        blocks(text, room, &mut at);
        if text.get(at.read) != Some(&b'"') {
            let plain = plain_len(&text[at.read..]);
            room[at.written..][..plain].copy_from_slice(&text[at.read..][..plain]);
            at.read += plain;
            at.written += plain;
        }
        if let Some(decoded) = stop(text, room, &mut at)? {
            return Ok(decoded);
        }
    }
}

/// Decodes whole blocks, until one holds something else than plain text and [simple escapes](SIMPLE_ESCAPES) or is not
/// wholly there.
#[inline]
fn blocks(text: &[u8], room: &mut [u8], at: &mut Progress) {
    #[cfg(target_arch = "x86_64")]
    if avx512::blocks(text, room, at) {
        return;
    }
    portable::blocks(text, room, at);
}

/// Decodes what stands at `at`, a stop or the end of the text. Returns the string if it ends there.
#[inline]
fn stop(text: &[u8], room: &mut [u8], at: &mut Progress) -> Result<Option<Decoded>, (ParseErrorKind, usize)> {
    match text.get(at.read) {
        Some(b'"') => Ok(Some(Decoded {
            len: at.written,
            end: at.read,
        })),
        Some(b'\\') => escape(text, room, at).map(|()| None).map_err(|kind| (kind, at.read)),
        Some(&control) => Err((ParseErrorKind::ControlCharacter(control), at.read)),
        None => Err((ParseErrorKind::UnexpectedEnd, at.read)),
    }
}

#[inline(never)]
fn escape(text: &[u8], room: &mut [u8], at: &mut Progress) -> Result<(), ParseErrorKind> {
    let letter = *text.get(at.read + 1).ok_or(ParseErrorKind::UnexpectedEnd)?;
    match SIMPLE_ESCAPES[usize::from(letter)] {
        0 => {
            let (c, len) = unicode_escape(&text[at.read..])?;
            at.written += c.encode_utf8(&mut room[at.written..]).len();
            at.read += len;
        }
        byte => {
            room[at.written] = byte;
            at.written += 1;
            at.read += 2;
        }
    }
    Ok(())
}

/// What a backslash and one letter stand for; 0 where they are no escape, or the start of a longer one.
///
/// A table rather than a `match`: which escape comes next cannot be predicted, and the processor would try.
const SIMPLE_ESCAPES: [u8; 256] = {
    let mut table = [0; 256];
    table[b'"' as usize] = b'"';
    table[b'\\' as usize] = b'\\';
    table[b'/' as usize] = b'/';
    table[b'b' as usize] = 8;
    table[b'f' as usize] = 12;
    table[b'n' as usize] = b'\n';
    table[b'r' as usize] = b'\r';
    table[b't' as usize] = b'\t';
    table
};

/// The character that the `\u` escape, or pair of them, at the front of `raw` stands for, and its length.
fn unicode_escape(raw: &[u8]) -> Result<(char, usize), ParseErrorKind> {
    let unit = |at: usize| -> Option<u16> {
        let digits = raw.get(at..at + 6)?.strip_prefix(b"\\u")?;
        digits
            .iter()
            .try_fold(0, |unit, &b| Some(unit << 4 | (b as char).to_digit(16)? as u16))
    };
    let first = unit(0).ok_or(ParseErrorKind::InvalidEscape)?;
    let units = match (first, unit(6)) {
        (0xD800..=0xDBFF, Some(second @ 0xDC00..=0xDFFF)) => [first, second],
        (0xD800..=0xDFFF, _) => return Err(ParseErrorKind::LoneSurrogate(first)),
        _ => return Ok((char::from_u32(first.into()).unwrap_or(char::REPLACEMENT_CHARACTER), 6)),
    };
    let c = char::decode_utf16(units)
        .next()
        .and_then(Result::ok)
        .unwrap_or(char::REPLACEMENT_CHARACTER);
    Ok((c, 12))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Decodes without blocks.
    fn plainly(text: &[u8]) -> Result<(Vec<u8>, usize), (ParseErrorKind, usize)> {
        let mut room = vec![0; text.len()];
        let mut at = Progress::default();
        loop {
            match text.get(at.read) {
                Some(&byte) if byte >= 0x20 && byte != b'"' && byte != b'\\' => {
                    room[at.written] = byte;
                    at.read += 1;
                    at.written += 1;
                }
                _ => {
                    if let Some(decoded) = stop(text, &mut room, &mut at)? {
                        room.truncate(decoded.len);
                        return Ok((room, decoded.end));
                    }
                }
            }
        }
    }

    fn with(
        blocks: impl Fn(&[u8], &mut [u8], &mut Progress),
        text: &[u8],
    ) -> Result<(Vec<u8>, usize), (ParseErrorKind, usize)> {
        let mut room = vec![0; text.len()];
        let decoded = decode_with(blocks, text, &mut room)?;
        room.truncate(decoded.len);
        Ok((room, decoded.end))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 20 } else { 2000 }))]

        /// Long and short stretches between escapes of all kinds, wrong ones too, and bytes that are no UTF-8.
        #[test]
        fn blocks_decode_what_a_plain_loop_decodes(
            pieces in prop::collection::vec(
                prop_oneof![
                    6 => "[ -~&&[^\"\\\\]]{0,90}".prop_map(String::into_bytes),
                    3 => "(\\\\[\"\\\\/bfnrt]){1,4}".prop_map(String::into_bytes),
                    1 => "(\\\\u00[0-9a-f]{2}){1,2}|\\\\ud83d\\\\ude00".prop_map(String::into_bytes),
                    1 => prop::collection::vec(0x80u8.., 1..70),
                    1 => "\\\\{60,70}".prop_map(String::into_bytes),
                ],
                0..12,
            ),
            odd in prop::option::weighted(0.1, prop_oneof![Just(b"\\q"), Just(b"\\\xe2"), Just(b"\x1fx"), Just(b"\\u")]),
            after in prop::collection::vec(any::<u8>(), 0..140),
        ) {
            let mut text = pieces.concat();
            if let Some(odd) = odd {
                text.splice(text.len() / 2..text.len() / 2, odd.iter().copied());
            }
            text.push(b'"');
            text.extend(after);
            let expected = plainly(&text);
            prop_assert_eq!(&with(portable::blocks, &text), &expected);
            prop_assert_eq!(&with(blocks, &text), &expected);
        }
    }
}
