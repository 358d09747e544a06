//! Ids of the demo model against Python's tiktoken: recorded, and live on random Unicode.

use crate::oracle;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
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

/// Text that the split pattern is picky about, more often than chance would have it.
fn picky() -> impl Strategy<Value = String> {
    let class = prop_oneof![
        4 => prop::char::range(' ', '~').prop_map(String::from),
        2 => any::<char>().prop_map(String::from),
        1 => prop::char::range('\u{80}', '\u{24f}').prop_map(String::from),
        1 => prop::char::range('\u{250}', '\u{52f}').prop_map(String::from),
        1 => prop::char::range('\u{590}', '\u{10ff}').prop_map(String::from),
        1 => prop::char::range('\u{1d00}', '\u{218f}').prop_map(String::from),
        1 => prop::char::range('\u{2e80}', '\u{9fff}').prop_map(String::from),
        1 => prop::char::range('\u{a000}', '\u{ffff}').prop_map(String::from),
        1 => prop::char::range('\u{1f000}', '\u{1faff}').prop_map(String::from),
        2 => prop::sample::select(vec![
            "'s", "'S", "'ſ", "'ll", "'LL", "'Ll", "'ve", "'re", "'d", "'m", "'t", "'", "’s", "\r", "\n", "\r\n", " ", "  ", "\t", "\u{1c}",
            "\u{1f}", "\u{85}", "\u{a0}", "\u{3000}", "\u{2028}", "\u{200b}", "\u{feff}", "\u{301}", "\u{fe0f}", "\u{200d}", "ǅ", "ʰ",
            "K", "İ", "ß", "〇", "々", "〡", "漢", "字", "ー", "ｱ", "٣", "²", "Ⅷ", "🈁", "𠀀", "\u{e000}", "\u{10ffff}", "/", "//\n",
        ]).prop_map(str::to_owned),
        1 => prop::sample::select(vec!["<|open|>", "<|sep|>", "<|media_pad|>", "[BOS]", "<|reserved_token_2823|>", "<|", "|>", "<|op"])
            .prop_map(str::to_owned),
        1 => prop::sample::select(vec!["the", " and", "ing", "Hello", " weather", "function", "get_weather", "\"type\"", "你好", "Привет"])
            .prop_map(str::to_owned),
    ];
    prop::collection::vec(class, 0..60).prop_map(|pieces| pieces.concat())
}

/// A reproducible run of `n` values.
pub(crate) fn samples<S: Strategy>(strategy: &S, seed: u8, n: usize) -> Vec<S::Value> {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    (0..n)
        .map(|_| strategy.new_tree(&mut runner).expect("a sample").current())
        .collect()
}

#[test]
fn random_unicode_gives_the_ids_of_tiktoken() {
    let model = Model::demo().expect("the demo model loads");
    let mut cases: Vec<(String, bool)> = samples(&(picky(), any::<bool>()), 7, 4000);
    // Each code point in three surroundings, so that every class of the pattern is met on each side of it.
    let all: Vec<char> = ('\0'..=char::MAX).filter(|c| !('\u{f0000}'..).contains(c)).collect();
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
