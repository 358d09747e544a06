//! Trust, the cache and streams on small vocabularies of every kind, held against the `tokenizers` crate as it is.

use super::*;
use proptest::prelude::*;
use serde_json::json;

/// Vocabularies small enough to be read, each with a step that is easy to get wrong.
fn vocabularies() -> Vec<(&'static str, serde_json::Value)> {
    let bytes: Vec<String> = (0..=255u8).map(|byte| byte_level(byte).to_string()).collect();
    let mut bpe: serde_json::Map<String, serde_json::Value> = bytes
        .iter()
        .enumerate()
        .map(|(id, token)| (token.clone(), json!(id)))
        .collect();
    for (i, token) in ["ab", "Ġa", "Ġab", "Ġ<", "|>", "<|"].iter().enumerate() {
        bpe.insert((*token).to_owned(), json!(256 + i));
    }
    let byte_level = |normalizer: serde_json::Value, add_prefix_space: bool| {
        json!({
            "added_tokens": added(300, true),
            "normalizer": normalizer,
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": add_prefix_space, "trim_offsets": true, "use_regex": true},
            "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
            "model": {"type": "BPE", "vocab": bpe, "merges": ["a b", "Ġ a", "Ġ ab", "Ġ <", "| >", "< |"]},
        })
    };
    let pieces: Vec<serde_json::Value> = std::iter::once(json!(["<unk>", 0.0]))
        .chain(["▁", "▁a", "▁ab", "a", "b", "ab", "<", "|", ">", "x", "▁x", "A"].map(|piece| json!([piece, -2.0])))
        .collect();
    let metaspace = |scheme: &str| {
        json!({
            "added_tokens": added(20, true),
            "normalizer": null,
            "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": true},
            "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": true},
            "model": {"type": "Unigram", "unk_id": 0, "vocab": pieces},
        })
    };
    // As `LlamaTokenizer` has it; `strange` has no tokens for the characters that others are made of.
    let fallback = |strange: bool| {
        let characters = (' '..='~').skip(1).filter(|c| !strange || "ab<|>xA".contains(*c));
        let tokens = std::iter::once("<unk>".to_owned())
            .chain((0..=255).map(|byte| format!("<0x{byte:02X}>")))
            .chain(characters.map(String::from))
            .chain(["▁", "▁a", "ab", "▁ab", "▁▁"].map(str::to_owned));
        let ids = tokens.enumerate().map(|(id, token)| (token, json!(id)));
        ids.collect::<serde_json::Map<_, _>>()
    };
    let whole_metaspace = |scheme: &str, strange: bool| {
        json!({
            "added_tokens": added(400, true),
            "normalizer": null,
            "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": false},
            "decoder": {"type": "Sequence", "decoders": [
                {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
            ]},
            "model": {"type": "BPE", "vocab": fallback(strange), "merges": ["▁ a", "a b", "▁ ab", "▁ ▁"], "byte_fallback": true, "fuse_unk": true},
        })
    };
    let words = json!({"[UNK]": 0, "a": 1, "##b": 2, "ab": 3, "x": 4, "<": 5, "|": 6, ">": 7, "sep": 8});
    vec![
        ("byte-level", byte_level(json!(null), false)),
        ("byte-level with NFC", byte_level(json!({"type": "NFC"}), false)),
        (
            "byte-level in lower case",
            byte_level(json!({"type": "Lowercase"}), false),
        ),
        ("byte-level with a prefix space", byte_level(json!(null), true)),
        ("metaspace first", metaspace("first")),
        ("metaspace always", metaspace("always")),
        ("whole metaspace first", whole_metaspace("first", false)),
        ("whole metaspace always", whole_metaspace("always", false)),
        ("whole metaspace never", whole_metaspace("never", false)),
        ("strange metaspace", whole_metaspace("first", true)),
        (
            "prepended",
            json!({
                "added_tokens": added(20, false),
                "normalizer": {"type": "Sequence", "normalizers": [
                    {"type": "Prepend", "prepend": "▁"},
                    {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
                ]},
                "pre_tokenizer": null,
                "decoder": {"type": "Sequence", "decoders": [
                    {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "Fuse"},
                    {"type": "Strip", "content": " ", "start": 1, "stop": 0},
                ]},
                "model": {"type": "Unigram", "unk_id": 0, "vocab": pieces},
            }),
        ),
        (
            "word pieces",
            json!({
                "added_tokens": added(20, true),
                "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
                "pre_tokenizer": {"type": "BertPreTokenizer"},
                "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
                "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": words},
            }),
        ),
    ]
}

/// Added tokens with every flag.
fn added(first: u32, some_raw: bool) -> serde_json::Value {
    let token = |id: u32, content: &str, special: bool, flags: &[&str]| {
        let has = |flag: &str| flags.contains(&flag);
        json!({
            "id": first + id, "content": content, "special": special, "single_word": has("single_word"),
            "lstrip": has("lstrip"), "rstrip": has("rstrip"), "normalized": !some_raw || has("normalized"),
        })
    };
    json!([
        token(0, "<|sep|>", true, &[]),
        token(1, "<|strip|>", true, &["lstrip", "rstrip"]),
        token(2, "<|end", false, &["rstrip"]),
        token(3, "<|end|>", true, &[]),
        token(4, "word", false, &["single_word"]),
        token(5, "BIG", false, &["normalized"]),
        token(6, "x|x", false, &["normalized"]),
    ])
}

fn byte_level(byte: u8) -> char {
    let c = (0..0x144)
        .rev()
        .filter_map(char::from_u32)
        .find(|c| byte_table::bytes_of_byte_level(&c.to_string()) == [byte]);
    c.expect("every byte has a character")
}

fn directory(name: &str, json: &serde_json::Value) -> ModelFiles {
    let directory = std::env::temp_dir().join(format!("typecase-{}-{}", std::process::id(), name.replace(' ', "-")));
    std::fs::create_dir_all(&directory).expect("a directory");
    let mut json = json.clone();
    json["version"] = json!("1.0");
    // What an engine must not see when a prompt is encoded in parts.
    json["truncation"] = json!({"direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0});
    std::fs::write(directory.join("tokenizer.json"), json.to_string()).expect("written");
    ModelFiles::directory(&directory).expect("the directory")
}

struct Kind {
    name: &'static str,
    tokenizer: Tokenizer,
    reference: tokenizers::Tokenizer,
}

fn kinds() -> Vec<Kind> {
    let load = |(name, json): (&'static str, serde_json::Value)| {
        let files = directory(name, &json);
        let reference = tokenizers::Tokenizer::from_bytes(json.to_string()).expect("the reference reads it");
        let tokenizer = Tokenizer::from_files(&files).expect("the vocabulary loads");
        Kind {
            name,
            tokenizer,
            reference,
        }
    };
    vocabularies().into_iter().map(load).collect()
}

const PIECES: &[&str] = &[
    "<|sep|>",
    "<|strip|>",
    "<|end|>",
    "<|end",
    "<|",
    "|>",
    "word",
    "BIG",
    "big",
    "x|x",
    " ",
    "  ",
    "\n",
    "a",
    "b",
    "ab",
    "x",
    "A",
    "e\u{301}",
    "é",
    "▁",
    "😀",
    "<",
    "|",
    ">",
    "\u{a0}",
    "sep",
    "<0x0A>",
    "<unk>",
];

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES), 0..12).prop_map(|pieces| pieces.concat())
}

fn ids_of(tokenizer: &Tokenizer, text: &str, untrusted: &[Range<usize>]) -> (Vec<u32>, Vec<Range<usize>>) {
    let mut out = Output {
        ranges: Some(Vec::new()),
        ..Output::default()
    };
    tokenizer
        .encode_segment(text, SpecialTokens::Trusted, 0, untrusted, &mut out)
        .expect("any text encodes");
    (out.ids, out.ranges.unwrap_or_default())
}

/// How often each added token is in `ids`.
fn added_in(tokenizer: &Tokenizer, ids: &[u32]) -> Vec<u32> {
    let mut found: Vec<u32> = ids
        .iter()
        .copied()
        .filter(|id| tokenizer.added_tokens().by_id(*id).is_some())
        .collect();
    found.sort_unstable();
    found
}

#[test]
fn the_fast_backend_takes_what_is_bytes_or_a_whole_metaspace() {
    for kind in kinds() {
        let is_fast = format!("{:?}", kind.tokenizer).contains("fast: true");
        let expected = kind.name.starts_with("whole metaspace") || kind.name.starts_with("byte-level");
        // Prefix spaces and lower case are left to the reference.
        if ["byte-level with a prefix space", "byte-level in lower case"].contains(&kind.name) {
            continue;
        }
        assert_eq!(is_fast, expected, "{}", kind.name);
    }
}

#[test]
fn trusted_text_has_the_ids_and_ranges_of_the_reference() {
    let kinds = kinds();
    proptest!(ProptestConfig::with_cases(400), |(text in text())| {
        for kind in &kinds {
            let expected = kind.reference.encode(text.as_str(), false).expect("the reference encodes");
            let (ids, ranges) = ids_of(&kind.tokenizer, &text, &[]);
            prop_assert_eq!(&ids, expected.get_ids(), "{} of {:?}", kind.name, text);
            prop_assert_eq!(ranges.len(), ids.len());
            // Tokens that are parts of characters are finer here; whole ones are the same.
            for (range, (start, end)) in ranges.iter().zip(expected.get_offsets()) {
                prop_assert!(*start <= range.start && range.end <= *end, "{} of {:?}: {:?}", kind.name, text, range);
            }
            prop_assert_eq!(
                kind.tokenizer.decode(&ids).expect("known ids"),
                kind.reference.decode(&ids, false).expect("known ids"),
                "{}", kind.name
            );
            let mut stream = kind.tokenizer.stream();
            let mut streamed: String = ids.iter().map(|id| stream.push(*id).expect("known ids")).collect();
            streamed += &stream.finish().expect("known ids");
            prop_assert_eq!(streamed, kind.tokenizer.decode(&ids).expect("known ids"), "{}: {:?}", kind.name, ids);
        }
    });
}

#[test]
fn request_text_adds_no_added_token_and_takes_none_away() {
    let kinds = kinds();
    proptest!(ProptestConfig::with_cases(400), |(before in text(), request in text(), after in text())| {
        // `word` counts by what stands beside it, and strips reach over borders: the template keeps its distance.
        let (before, after) = (format!("{before}(("), format!(")){after}"));
        for kind in &kinds {
            let whole = format!("{before}{request}{after}");
            let untrusted: Vec<_> = std::iter::once(before.len()..before.len() + request.len()).collect();
            let (ids, ranges) = ids_of(&kind.tokenizer, &whole, &untrusted);
            let (plain, _) = ids_of(&kind.tokenizer, &format!("{before}{after}"), &[]);
            prop_assert_eq!(
                added_in(&kind.tokenizer, &ids),
                added_in(&kind.tokenizer, &plain),
                "{}: {:?} in {:?}", kind.name, request, whole
            );
            for (id, range) in ids.iter().zip(&ranges) {
                if kind.tokenizer.added_tokens().by_id(*id).is_some_and(|token| token.content != "BIG") {
                    prop_assert!(!touches(&untrusted, range.clone()), "{}: {:?}", kind.name, whole);
                }
            }
            // Where the request spells none, strict and compat are the same.
            let (compat, _) = ids_of(&kind.tokenizer, &whole, &[]);
            if added_in(&kind.tokenizer, &compat) == added_in(&kind.tokenizer, &ids) {
                prop_assert_eq!(&ids, &compat, "{}: {:?}", kind.name, whole);
            }
        }
    });
}

/// Characters that a half of an added token has.
const HALVES: &str = "<|>sepworxBIGbig";

/// Prompts as templates write them: turns between control tokens, with what requests say in them.
fn conversation(opened: &str, closed: &str, said: &[String]) -> (String, Vec<Range<usize>>) {
    let mut text = String::new();
    let mut untrusted = Vec::new();
    for (turn, said) in said.iter().enumerate() {
        text.push_str(opened);
        text.push_str(if turn % 2 == 0 { "user\n" } else { "assistant: " });
        let start = text.len();
        text.push_str(said);
        if start < text.len() {
            untrusted.push(start..text.len());
        }
        text.push_str(closed);
    }
    (text, untrusted)
}

#[test]
fn strict_is_compat_wherever_no_string_of_a_request_spells_an_added_token() {
    let kinds = kinds();
    let said = prop::collection::vec(text(), 1..4);
    // Control tokens that take white space along, on either side or none, and turns that are told apart by text alone.
    let turns = prop::sample::select(vec![
        ("<|sep|>", "<|end|>"),
        ("<|strip|>", "<|strip|>"),
        ("<|sep|> ", " <|strip|>\n"),
        ("a ", "\n\n"),
        (" ", "(("),
        ("", "<|sep|>"),
    ]);
    let (same, spelled) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    proptest!(ProptestConfig::with_cases(1200), |(said in said, (opened, closed) in turns)| {
        for kind in &kinds {
            let spells = |said: &String| !added_in(&kind.tokenizer, &ids_of(&kind.tokenizer, said, &[]).0).is_empty();
            let (text, untrusted) = conversation(opened, closed, &said);
            let (strict, _) = ids_of(&kind.tokenizer, &text, &untrusted);
            if said.iter().any(spells) {
                spelled.set(spelled.get() + 1);
                // A space before a token counts where normalizing put one before its spelling as well.
                let harmless = |said: &String| match said.chars().next_back() {
                    None => String::new(),
                    Some(last @ (' ' | '▁')) => format!("(({last}"),
                    Some(_) => "((".to_owned(),
                };
                let bare: Vec<String> = said.iter().map(harmless).collect();
                let (bare, _) = conversation(opened, closed, &bare);
                let (bare, _) = ids_of(&kind.tokenizer, &bare, &[]);
                prop_assert_eq!(added_in(&kind.tokenizer, &strict), added_in(&kind.tokenizer, &bare), "{}: {:?}", kind.name, text);
                continue;
            }
            let (compat, _) = ids_of(&kind.tokenizer, &text, &[]);
            // Halves of a token on both sides of a border are one in compat, which no string spelled alone.
            let writes_halves = said.iter().any(|said| said.contains(|c: char| HALVES.contains(c)));
            if writes_halves && added_in(&kind.tokenizer, &compat).len() > added_in(&kind.tokenizer, &strict).len() {
                continue;
            }
            same.set(same.get() + 1);
            prop_assert_eq!(&strict, &compat, "{}: {:?}", kind.name, text);
            let expected = kind.reference.encode(text.as_str(), false).expect("the reference encodes");
            prop_assert_eq!(&strict, expected.get_ids(), "{}: {:?}", kind.name, text);
        }
    });
    assert!(
        same.get() > 1000 && spelled.get() > 1000,
        "{same:?} the same, {spelled:?} with spellings"
    );
}

#[test]
fn the_cache_changes_nothing() {
    for kind in kinds() {
        let uncached = Tokenizer::from_files(&directory(
            kind.name,
            &vocabularies().into_iter().find(|v| v.0 == kind.name).expect("it").1,
        ))
        .expect("the vocabulary loads")
        .cache_bytes(0);
        for text in ["ab ab<|sep|>ab ab", "ab<|strip|>ab ab", "ab ab", "x<|sep|>x<|sep|>x"] {
            for _ in 0..2 {
                assert_eq!(
                    ids_of(&kind.tokenizer, text, &[]),
                    ids_of(&uncached, text, &[]),
                    "{}: {text}",
                    kind.name
                );
            }
        }
        assert_eq!(uncached.cache_stats().entries, 0);
    }
}

/// The ids of a text of which an earlier part may be known, and their number as it is counted.
fn grown(tokenizer: &Tokenizer, text: &str, said: usize, untrusted: &[Range<usize>]) -> (Vec<u32>, usize) {
    let mut out = Output::default();
    tokenizer
        .encode_grown(text, said, untrusted, &mut out)
        .expect("any text encodes");
    let mut counted = Output {
        count: Some(0),
        ..Output::default()
    };
    tokenizer
        .encode_grown(text, said, untrusted, &mut counted)
        .expect("any text encodes");
    (out.ids, counted.count.unwrap_or_default())
}

#[test]
fn a_conversation_that_grows_has_the_ids_of_one_that_is_new() {
    let kinds = kinds();
    let turns = prop::collection::vec((text(), text(), any::<bool>()), 1..6);
    proptest!(ProptestConfig::with_cases(60), |(head in text(), turns in turns, cut in 0..40_usize)| {
        for kind in &kinds {
            // Long enough to be kept, with the same beginning for some conversations.
            let mut whole = format!("{head}<|sep|>ab x ").repeat(1 + 1200 / (head.len() + 12));
            let mut untrusted: Vec<Range<usize>> = Vec::new();
            for (said, answered, is_trusted) in &turns {
                let start = whole.len();
                whole.push_str(said);
                if !is_trusted && !said.is_empty() {
                    untrusted.push(start..whole.len());
                }
                let said = whole.len();
                whole.push_str("<|sep|>");
                whole.push_str(answered);
                let check = |text: &str, untrusted: &[Range<usize>]| {
                    let (expected, _) = ids_of(&kind.tokenizer, text, untrusted);
                    let (ids, count) = grown(&kind.tokenizer, text, said, untrusted);
                    assert_eq!(count, expected.len(), "{} of {text:?}", kind.name);
                    assert_eq!(ids, expected, "{} of {text:?} without {untrusted:?}", kind.name);
                };
                check(&whole, &untrusted);
                // Another end of the same turn, and the same text from another writer.
                let at = whole.char_indices().rev().nth(cut).map_or(0, |(at, _)| at);
                let other = format!("{}{head}", &whole[..at]);
                let before: Vec<_> = untrusted.iter().filter(|range| range.end <= at).cloned().collect();
                check(&other, &before);
                check(&whole, &[]);
            }
        }
    });
    for kind in &kinds {
        let stats = kind.tokenizer.cache_stats();
        // Where all are looked for in normalized text, none is known to end where the text goes on.
        if kind.tokenizer.added_tokens().raw().is_empty() {
            assert_eq!(stats.prefixes, 0);
            continue;
        }
        assert!(
            stats.prefix_hits > 100 && stats.bytes <= stats.max_bytes,
            "{}: {stats:?}",
            kind.name
        );
    }
}
