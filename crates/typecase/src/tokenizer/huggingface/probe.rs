//! Whether the fast backend gives the ids of the reference.

use super::fast::Fast;
use super::pipeline::Pipeline;
use crate::tokenizer::added_tokens::AddedToken;
use crate::tokenizer::vocabulary::Piece;

/// Texts that tell split patterns, normalizers and merge rules apart.
const TEXTS: &[&str] = &[
    "Hello, world! How's it going? I'LL say it's fine; they'd've known.",
    " leading and trailing  \n\n  spaces\t\ttabs\r\n\r\nlines \u{a0}\u{3000}\u{2028}\u{85}\u{1c} x",
    "1 12 123 1234 12345678 3.14 1e-7 ١٢٣ ²³ Ⅷ ½",
    "fn main() {\n    println!(\"{}\", x[0] + y->z);\n}\n\n\n// done",
    "{\"city\": \"Paris\", \"list\": [1, 2.5, null], \"s\": \"\\u00e9\\n\"}",
    "https://example.org/a/b?c=d&e=f#g  C:\\dir\\file.txt  user@example.org",
    "漢字かな交じり文、カタカナ。中文没有空格！한국어 텍스트입니다.",
    "Привет, мир! Γειά σου Κόσμε. مرحبا بالعالم שלום עולם नमस्ते दुनिया สวัสดีชาวโลก",
    "e\u{301}a\u{300} n\u{303}o \u{1e9b}\u{323} ﬁ Å Å ẞ ß ſ İ ı ǅ ʰ",
    "👩‍👩‍👧‍👦 🇫🇷 👍🏽 😀\u{fe0f} \u{200d}\u{200b}\u{feff} \u{e000}\u{10ffff}\u{fffd}",
    "\0\u{1}\u{7f}\u{80}\u{9f} ~`!@#$%^&*()_+-=[]{}|;':\",./<>?",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa        aaaa\u{2581}▁▁a ▁ b",
    "camelCase PascalCase snake_case SCREAMING_CASE kebab-case mixed123Numbers456",
    "",
    " ",
    "\n",
    "  \n \n",
    "a",
    "▁",
    "<0x0A><s></s><unk><pad> [CLS] [MASK]",
];

/// Whether `fast` encodes the texts, and the spellings of some added tokens as ordinary text, as `pipeline` does: at the
/// beginning of a segment and within.
pub(super) fn agree(fast: &Fast, pipeline: &Pipeline, added: &[AddedToken]) -> bool {
    let step = (added.len() / 32).max(1);
    let spellings = added.iter().step_by(step).map(|token| token.content.as_str());
    let long: String = TEXTS.concat().repeat(4);
    TEXTS
        .iter()
        .copied()
        .chain(spellings)
        .chain([long.as_str()])
        .filter(|text| !text.is_empty())
        .all(|text| {
            [true, false].into_iter().all(|first| {
                let piece = Piece { text, first };
                let mut expected = Vec::new();
                pipeline.encode(piece, &mut expected).is_ok() && fast.encode(piece).is_ok_and(|ids| ids == expected)
            })
        })
}
