//! What a tokenizer makes of a case's prompt: control tokens, decoded text, masks.
//!
//! Cases name control tokens, not a vocabulary. Theirs is made here: bytes, pairs of letters, so that tokens lie across
//! the borders of spans, and the case's control tokens; with the post-processor that the case describes, which must do
//! nothing.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::io::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use typecase::model::{Model, ModelFiles};
use typecase::prompt::Prompt;
use typecase::tokenizer::{Tokenizer, Trust, TurnMarks};
use typecase::value::{Value, json};

/// Expectations that need ids.
const NEED_IDS: [&str; 6] = [
    "control_tokens",
    "decodes_to_text",
    "ids_equal_reference",
    "token_mask_follows_spans",
    "mask_covers",
    "mask_excludes",
];

/// The tokens of a prompt, as far as cases ask about them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Encoded {
    /// How often each control token is among the ids.
    controls: Vec<(String, usize)>,
    /// The bytes of each token, and whether it is in the generation mask.
    masked: Vec<(Range<usize>, bool)>,
    /// The generation blocks, in bytes.
    spans: Vec<Range<usize>>,
    /// What the ids decode to.
    pub(super) decoded: String,
    ids: Vec<u32>,
}

impl Encoded {
    /// Encodes `prompt`; `None` if that fails.
    pub(super) fn new(prompt: &Prompt<'_>, tokenizer: &Tokenizer) -> Option<Self> {
        let added = tokenizer.added_tokens();
        let stops: Vec<u32> = ["<|im_end|>", "</s>"]
            .iter()
            .filter_map(|stop| added.id(stop))
            .collect();
        let origins = tokenizer
            .explain(prompt, Trust::Strict, &TurnMarks::closed_by(&stops))
            .ok()?;
        let mut counts: HashMap<u32, usize> = added.iter().map(|token| (token.id, 0)).collect();
        for id in origins.ids() {
            if let Some(count) = counts.get_mut(id) {
                *count += 1;
            }
        }
        Some(Encoded {
            controls: added
                .iter()
                .map(|token| (token.content.clone(), counts[&token.id]))
                .collect(),
            masked: origins
                .tokens()
                .iter()
                .map(|token| (token.range.clone(), token.is_generated))
                .collect(),
            spans: prompt.generation_spans().to_vec(),
            decoded: tokenizer.decode(origins.ids()).ok()?,
            ids: origins.ids().to_vec(),
        })
    }

    /// How often a control token is among the ids; `None` if the vocabulary has none that is spelled so.
    pub(super) fn control(&self, spelling: &str) -> Option<usize> {
        let found = self.controls.iter().find(|(content, _)| content == spelling);
        found.map(|(_, count)| *count)
    }

    /// Whether exactly the tokens that share a byte with a generation block are in the mask.
    pub(super) fn mask_follows_spans(&self) -> bool {
        let in_span = |range: &Range<usize>| self.spans.iter().any(|span| share(span, range));
        self.masked.iter().all(|(range, masked)| *masked == in_span(range))
    }

    /// Whether all tokens of every occurrence of `part` in `text` are in the mask, or none is.
    pub(super) fn mask_is(&self, text: &str, part: &str, wanted: bool) -> bool {
        let mut occurrences = text.match_indices(part).map(|(at, _)| at..at + part.len()).peekable();
        occurrences.peek().is_some()
            && occurrences.all(|occurrence| {
                let touched = self.masked.iter().filter(|(range, _)| share(&occurrence, range));
                touched.into_iter().all(|(_, masked)| *masked == wanted)
            })
    }
}

impl Encoded {
    /// Whether the ids are those that the checkpoint's own tokenizer gives for the segments of a prompt; `None` where that
    /// cannot run. What it runs is `tiktoken` with the demo model's ranks, cut as the checkpoint's code cuts.
    pub(super) fn equals_reference(&self, segments: &[(String, bool)]) -> Option<bool> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let python = std::env::var_os("TYPECASE_ORACLE_PYTHON")
            .map_or_else(|| root.join(".cache/oracle/bin/python"), PathBuf::from);
        if !python.exists() {
            return None;
        }
        let mut child = Command::new(python)
            .arg(root.join("conformance/oracle/tiktoken_ids.py"))
            .arg(root.join("crates/typecase/models/kimi-k3-demo"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .ok()?;
        let mut input = String::new();
        for (text, control) in segments {
            input.push_str("{\"text\": ");
            json::write_str(&mut input, text, false);
            let _ = writeln!(input, ", \"special\": {control}}}");
        }
        let mut stdin = child.stdin.take()?;
        let feed = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
        let output = child.wait_with_output().ok()?;
        feed.join().ok()?.ok()?;
        let answers = String::from_utf8(output.stdout)
            .ok()
            .filter(|_| output.status.success())?;
        let digits = |c: char| !c.is_ascii_digit();
        let expected = answers.split(digits).filter(|id| !id.is_empty()).map(str::parse);
        Some(expected.eq(self.ids.iter().map(|id| Ok(*id))))
    }
}

fn share(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

/// The tokenizer of a case, if it expects anything of ids.
pub(super) fn tokenizer(case: Value<'_>) -> Option<Tokenizer> {
    let expects = ["expect", "expect_exact"]
        .iter()
        .any(|name| case.lookup(name).is_some_and(needs_ids));
    if !expects {
        return None;
    }
    if case.lookup("format").and_then(|format| format.as_str()) == Some("kimi_k3") {
        return Tokenizer::from_files(Model::demo().ok()?.files()).ok();
    }
    let listed = case.lookup("special_tokens").and_then(|tokens| tokens.as_list());
    let listed = listed.map_or(&[][..], |tokens| tokens.items());
    // Markers of turns, so that a mask without blocks can end where its turn does.
    let mut controls: BTreeSet<&str> = listed.iter().filter_map(|token| token.as_str()).collect();
    controls.extend(["<|im_start|>", "<|im_end|>"]);
    let adds = case
        .lookup("tokenizer")
        .and_then(|tokenizer| tokenizer.lookup("adds_bos"))
        .and_then(|bos| bos.as_str());
    let files = [("tokenizer.json".to_owned(), vocabulary(&controls, adds))];
    Tokenizer::from_files(&ModelFiles::in_memory("the vocabulary of the case", files)).ok()
}

fn needs_ids(expected: Value<'_>) -> bool {
    let in_dict = expected.as_dict().is_some_and(|fields| {
        let mut fields = fields.str_entries();
        fields.any(|(name, value)| NEED_IDS.contains(&name.as_str()) || needs_ids(value))
    });
    in_dict
        || expected
            .as_list()
            .is_some_and(|list| list.items().iter().any(|item| needs_ids(*item)))
}

/// A `tokenizer.json`.
fn vocabulary(controls: &BTreeSet<&str>, adds: Option<&str>) -> String {
    let quoted = |text: &str| {
        let mut out = String::new();
        json::write_str(&mut out, text, false);
        out
    };
    let bytes = ('!'..='~')
        .chain('¡'..='¬')
        .chain('®'..='ÿ')
        .chain('\u{100}'..='\u{143}');
    let mut tokens: Vec<String> = bytes.map(String::from).collect();
    let letters = || ('A'..='Z').chain('a'..='z');
    let pairs: Vec<(char, char)> = letters().flat_map(|a| letters().map(move |b| (a, b))).collect();
    tokens.extend(pairs.iter().map(|(a, b)| format!("{a}{b}")));
    let first = tokens.len();
    let join = |items: Vec<String>| items.join(", ");
    let entries = join(
        tokens
            .iter()
            .enumerate()
            .map(|(id, token)| format!("{}: {id}", quoted(token)))
            .collect(),
    );
    let merges = join(pairs.iter().map(|(a, b)| format!("[\"{a}\", \"{b}\"]")).collect());
    let added = join(
        controls
            .iter()
            .enumerate()
            .map(|(i, content)| {
                format!(
                    r#"{{"id": {}, "content": {}, "special": true, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false}}"#,
                    first + i,
                    quoted(content)
                )
            })
            .collect(),
    );
    let post_processor = adds.map_or("null".to_owned(), |bos| {
        let id = first + controls.iter().position(|content| *content == bos).unwrap_or_default();
        let bos = quoted(bos);
        format!(
            r#"{{"type": "TemplateProcessing", "single": [{{"SpecialToken": {{"id": {bos}, "type_id": 0}}}}, {{"Sequence": {{"id": "A", "type_id": 0}}}}],
            "pair": [{{"Sequence": {{"id": "A", "type_id": 0}}}}, {{"Sequence": {{"id": "B", "type_id": 0}}}}],
            "special_tokens": {{{bos}: {{"id": {bos}, "ids": [{id}], "tokens": [{bos}]}}}}}}"#
        )
    });
    let byte_level = r#"{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}"#;
    format!(
        r#"{{"version": "1.0", "truncation": null, "padding": null, "normalizer": null, "added_tokens": [{added}],
        "pre_tokenizer": {byte_level}, "decoder": {byte_level}, "post_processor": {post_processor},
        "model": {{"type": "BPE", "vocab": {{{entries}}}, "merges": [{merges}]}}}}"#
    )
}
