//! Ids of the demo model against Python's tiktoken: recorded, and live on random Unicode.

use crate::oracle;
use serde_json::{Value, json};
use typecase::Model;
use typecase::prompt::SpecialTokens;

fn ids_of(model: &Model, text: &str, special: bool) -> Vec<u32> {
    let policy = if special {
        SpecialTokens::All
    } else {
        SpecialTokens::None
    };
    model.tokenizer().encode_text(text, policy).expect("any text encodes")
}

fn ids_from(value: &Value) -> Vec<u32> {
    let ids = value.as_array().expect("a list of ids");
    ids.iter().map(|id| id.as_u64().expect("an id") as u32).collect()
}

#[test]
fn demo_ids_are_those_that_tiktoken_gave() {
    let model = Model::demo().expect("the demo model loads");
    let golden = oracle::repository().join("conformance/golden/tiktoken_demo.jsonl");
    let golden = std::fs::read_to_string(golden).expect("the golden file is there");
    let mut cases = 0;
    for line in golden.lines().skip(1) {
        let case: Value = serde_json::from_str(line).expect("a case is JSON");
        let text = case["text"].as_str().expect("a case has a text");
        let special = case["special"] == true;
        let ids = ids_of(&model, text, special);
        assert_eq!(ids, ids_from(&case["ids"]), "{text:?}, special tokens: {special}");
        assert_eq!(model.tokenizer().decode(&ids).expect("known ids"), text);
        cases += 1;
    }
    assert!(cases >= 50);
}

/// A reproducible stream of numbers (xorshift64*): proptest's own takes seconds for a few thousand texts in a test build.
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn seeded(seed: u64) -> Self {
        Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % n as u64) as usize
    }
}

/// Where characters are drawn from, each range as often as the others.
const RANGES: &[(char, char)] = &[
    (' ', '~'),
    (' ', '~'),
    ('a', 'z'),
    ('A', 'Z'),
    ('\0', char::MAX),
    ('\u{80}', '\u{24f}'),
    ('\u{250}', '\u{52f}'),
    ('\u{590}', '\u{10ff}'),
    ('\u{1d00}', '\u{218f}'),
    ('\u{2e80}', '\u{9fff}'),
    ('\u{a000}', '\u{ffff}'),
    ('\u{1f000}', '\u{1faff}'),
];

/// What split patterns are picky about.
const PICKY: &[&str] = &[
    "'s",
    "'S",
    "'ſ",
    "'ll",
    "'LL",
    "'Ll",
    "'ve",
    "'re",
    "'d",
    "'m",
    "'t",
    "'",
    "’s",
    "\r",
    "\n",
    "\r\n",
    " ",
    "  ",
    "\t",
    "\u{1c}",
    "\u{1f}",
    "\u{85}",
    "\u{a0}",
    "\u{3000}",
    "\u{2028}",
    "\u{200b}",
    "\u{feff}",
    "\u{301}",
    "\u{fe0f}",
    "\u{200d}",
    "ǅ",
    "ʰ",
    "K",
    "İ",
    "ß",
    "〇",
    "々",
    "〡",
    "漢",
    "字",
    "ー",
    "ｱ",
    "٣",
    "²",
    "Ⅷ",
    "🈁",
    "𠀀",
    "\u{e000}",
    "\u{10ffff}",
    "/",
    "//\n",
    "<|open|>",
    "<|sep|>",
    "<|media_pad|>",
    "[BOS]",
    "<|reserved_token_2823|>",
    "<|",
    "|>",
    "<|op",
    "the",
    " and",
    "ing",
    "Hello",
    " weather",
    "function",
    "get_weather",
    "\"type\"",
    "你好",
    "Привет",
];

/// All characters up to U+3400, and of the large scripts and planes beyond every 64th and those around each gap.
pub(crate) fn every_kind_of_character() -> Vec<char> {
    let sampled = |c: &char| {
        let point = *c as u32;
        point < 0x3400
            || point.is_multiple_of(64)
            || (0xa000..0xac00).contains(&point)
            || (0xf900..0x10000).contains(&point)
            || (0x1_f000..0x1_fc00).contains(&point)
    };
    ('\0'..='\u{effff}').filter(sampled).collect()
}

/// Random text of up to 60 pieces.
pub(crate) fn picky(numbers: &mut Numbers) -> String {
    let mut text = String::new();
    for _ in 0..numbers.below(60) {
        if numbers.below(3) == 0 {
            text.push_str(PICKY[numbers.below(PICKY.len())]);
            continue;
        }
        let (first, last) = RANGES[numbers.below(RANGES.len())];
        let point = first as u32 + numbers.below((last as u32 - first as u32 + 1) as usize) as u32;
        text.extend(char::from_u32(point));
    }
    text
}

#[test]
fn random_unicode_gives_the_ids_of_tiktoken() {
    let model = Model::demo().expect("the demo model loads");
    let mut cases: Vec<(String, bool)> = {
        let mut numbers = Numbers::seeded(7);
        (0..4000).map(|i| (picky(&mut numbers), i % 2 == 0)).collect()
    };
    // Each code point in three surroundings, so that every class of the pattern is met on each side of it.
    let all: Vec<char> = every_kind_of_character();
    for block in all.chunks(4096) {
        cases.push((block.iter().map(|c| format!("{c}a {c}{c}1")).collect(), false));
        cases.push((block.iter().map(|c| format!("A{c}'S{c} {c}\n")).collect(), false));
    }
    for n in [24_999, 25_000, 25_001, 50_001, 400_001] {
        cases.push((
            format!("x {}é{} y", "ab".repeat(n / 2 + 1), "\u{1c} ".repeat(n / 2 + 1)),
            true,
        ));
    }
    let input = cases
        .iter()
        .map(|(text, special)| json!({"text": text, "special": special}).to_string() + "\n")
        .collect();
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/models/kimi-k3-demo");
    let Some(answers) = oracle::run("tiktoken_ids.py", &[directory], input) else {
        return;
    };
    assert_eq!(answers.lines().count(), cases.len());
    for ((text, special), answer) in cases.iter().zip(answers.lines()) {
        let ids = ids_of(&model, text, *special);
        let expected = ids_from(&serde_json::from_str(answer).expect("the answer is JSON"));
        if ids != expected {
            let at = ids.iter().zip(&expected).take_while(|(a, b)| a == b).count();
            let before = model.tokenizer().decode(&ids[..at]).expect("known ids");
            let shown: String = text[before.len().min(text.len())..].chars().take(40).collect();
            panic!("special tokens: {special}; ids differ from {at} on, at {shown:?}");
        }
    }
}
