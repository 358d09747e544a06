//! `data:` URLs (RFC 2397).

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use std::borrow::Cow;

/// Padding may be missing, as some clients leave it out.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// The bytes of a `data:` URL; `None` if `url` is none, or its data is not what it says.
pub(super) fn decode(url: &str) -> Option<Vec<u8>> {
    let scheme = url.get(..5)?;
    if !scheme.eq_ignore_ascii_case("data:") {
        return None;
    }
    let (head, data) = url[5..].split_once(',')?;
    match head.rsplit_once(';') {
        Some((_, last)) if last.eq_ignore_ascii_case("base64") => {
            let data = percent_decode(data.as_bytes());
            // Line breaks, as MIME encoders write them, mean nothing.
            let data = match data.iter().any(u8::is_ascii_whitespace) {
                true => Cow::Owned(
                    data.iter()
                        .copied()
                        .filter(|byte| !byte.is_ascii_whitespace())
                        .collect(),
                ),
                false => data,
            };
            BASE64.decode(&*data).ok()
        }
        _ => Some(percent_decode(data.as_bytes()).into_owned()),
    }
}

fn percent_decode(data: &[u8]) -> Cow<'_, [u8]> {
    if !data.contains(&b'%') {
        return Cow::Borrowed(data);
    }
    let hex = |byte: Option<&u8>| char::from(*byte?).to_digit(16);
    let mut out = Vec::with_capacity(data.len());
    let mut index = 0;
    while let Some(&byte) = data.get(index) {
        let escape = (byte == b'%').then(|| Some((hex(data.get(index + 1))? << 4) | hex(data.get(index + 2))?));
        match escape.flatten() {
            Some(decoded) => {
                out.push(decoded as u8);
                index += 3;
            }
            None => {
                out.push(byte);
                index += 1;
            }
        }
    }
    Cow::Owned(out)
}
