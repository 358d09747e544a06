//! Models in a GGUF file: the vocabulary and the chat templates of its metadata. Weights are not read.
//!
//! What a GGUF file says of a tokenizer is less than what `tokenizer.json` says: tokens, their kinds, merges or scores, and
//! the *name* of the rule by which text is split. So the files of a model directory are made of it, and read as any
//! others are. Only names whose ids were held against the `tokenizer.json` of a real vocabulary are known: `qwen2`
//! (Qwen3), `llama-bpe` (Llama 3.1), `gpt-4o` (gpt-oss) and `deepseek-v3`. Others are refused: a split by another rule gives
//! other ids.
//!
//! | `tokenizer.ggml.model` | becomes |
//! |---|---|
//! | `gpt2` | byte-level BPE, split as `tokenizer.ggml.pre` says ([`SPLITS`]) |
//!
//! # Source
//! The GGUF specification (`docs/gguf.md` of ggml) for keys and token types; the `tokenizer.json` of these models for the rules.

use super::ModelFiles;
use crate::{Error, ErrorKind, Result};
use gguf_rs_lib::format::header::GGUFHeader;
use gguf_rs_lib::format::metadata::{Metadata, MetadataValue};
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

/// Bytes of metadata that are read, and that they may take in memory: vocabularies of a million tokens fit.
const MAX_METADATA_BYTES: usize = 256 << 20;
const MAX_DECODED_BYTES: usize = 1 << 30;

/// How a byte-level vocabulary splits text.
struct Split {
    /// What `tokenizer.ggml.pre` is.
    name: &'static str,
    /// One after the other.
    patterns: &'static [&'static str],
    nfc: bool,
    /// Whether a word that is a token is one, whatever the merges would make of it.
    ignore_merges: bool,
}

const SPLITS: &[Split] = &[
    Split {
        name: "qwen2",
        patterns: &[concat!(
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}",
            r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        )],
        nfc: true,
        ignore_merges: false,
    },
    Split {
        name: "llama-bpe",
        patterns: &[concat!(
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}",
            r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        )],
        nfc: false,
        ignore_merges: true,
    },
    Split {
        name: "gpt-4o",
        patterns: &[concat!(
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        )],
        nfc: false,
        ignore_merges: true,
    },
    Split {
        name: "deepseek-v3",
        patterns: &[
            r"\p{N}{1,3}",
            "[\u{4e00}-\u{9fa5}\u{3040}-\u{309f}\u{30a0}-\u{30ff}]+",
            concat!(
                r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"##,
                r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
            ),
        ],
        nfc: false,
        ignore_merges: false,
    },
];

/// `tokenizer.ggml.token_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TokenType {
    Normal,
    Control,
    UserDefined,
    Unused,
}

impl TokenType {
    fn of(number: u64) -> Self {
        match number {
            3 => TokenType::Control,
            4 => TokenType::UserDefined,
            5 => TokenType::Unused,
            // 1: normal, 2: unknown, 6: a byte. The latter two are tokens as any other here.
            _ => TokenType::Normal,
        }
    }

    fn is_added(self) -> bool {
        matches!(self, TokenType::Control | TokenType::UserDefined)
    }
}

/// The files of a model directory, as the metadata of a GGUF file has them.
pub(super) fn files(file: &Path) -> Result<ModelFiles> {
    let name = file.display().to_string();
    let broken = |reason: String| {
        Error::new(ErrorKind::BrokenModelFile {
            file: name.clone(),
            reason,
        })
    };
    let opened = File::open(file).map_err(|err| match err.kind() {
        io::ErrorKind::NotFound => Error::new(ErrorKind::MissingModelFile { file: name.clone() }),
        _ => broken(err.to_string()).caused_by(err),
    })?;
    let mut reader = BufReader::new(opened);
    let header = GGUFHeader::read_from(&mut reader).map_err(|err| broken(err.to_string()))?;
    let metadata = Metadata::read_from_with_limits(
        &mut reader,
        header.metadata_kv_count,
        MAX_METADATA_BYTES,
        MAX_DECODED_BYTES,
    )
    .map_err(|err| broken(err.to_string()))?;
    let gguf = Gguf { metadata: &metadata };
    let tokens = gguf.tokens().map_err(broken)?;
    let tokenizer = gguf.tokenizer(&tokens).map_err(broken)?;
    let files = [
        ("config.json", gguf.config()),
        ("tokenizer.json", tokenizer),
        ("tokenizer_config.json", gguf.tokenizer_config(&tokens)),
    ];
    let files = files.map(|(file, value)| (file.to_owned(), value.to_string()));
    Ok(ModelFiles::in_memory(name, files))
}

struct Gguf<'m> {
    metadata: &'m Metadata,
}

/// A token; its position is its id.
struct Token<'m> {
    content: &'m str,
    kind: TokenType,
}

type Parsed<T> = std::result::Result<T, String>;

impl<'m> Gguf<'m> {
    fn text(&self, key: &str) -> Option<&'m str> {
        self.metadata.get(key)?.as_str()
    }

    fn array(&self, key: &str) -> Option<&'m [MetadataValue]> {
        match self.metadata.get(key)? {
            MetadataValue::Array(array) => Some(&array.values),
            _ => None,
        }
    }

    fn texts(&self, key: &str) -> Parsed<Vec<&'m str>> {
        let array = self.array(key).ok_or_else(|| format!("{key} is missing or no array"))?;
        array
            .iter()
            .map(|item| {
                item.as_str()
                    .ok_or_else(|| format!("{key} has an item that is no string"))
            })
            .collect()
    }

    fn tokens(&self) -> Parsed<Vec<Token<'m>>> {
        let contents = self.texts("tokenizer.ggml.tokens")?;
        let kinds = self.array("tokenizer.ggml.token_type").unwrap_or_default();
        if !kinds.is_empty() && kinds.len() != contents.len() {
            return Err(format!(
                "tokenizer.ggml.token_type has {} items for {} tokens",
                kinds.len(),
                contents.len()
            ));
        }
        let kind = |id: usize| kinds.get(id).and_then(natural).map_or(TokenType::Normal, TokenType::of);
        Ok(contents
            .into_iter()
            .enumerate()
            .map(|(id, content)| Token {
                content,
                kind: kind(id),
            })
            .collect())
    }

    /// `config.json`.
    fn config(&self) -> Value {
        let ids: Vec<u64> = ["eos_token_id", "eot_token_id"]
            .iter()
            .filter_map(|key| self.metadata.get(&format!("tokenizer.ggml.{key}"))?.as_u64())
            .collect();
        json!({ "model_type": self.text("general.architecture"), "eos_token_id": ids })
    }

    /// `tokenizer_config.json`: named tokens and templates.
    fn tokenizer_config(&self, tokens: &[Token<'_>]) -> Value {
        let mut config = Map::new();
        // The steps are those that the file names, whatever the class of the architecture has.
        config.insert("tokenizer_class".to_owned(), "PreTrainedTokenizerFast".into());
        for (key, name) in [
            ("bos_token_id", "bos_token"),
            ("eos_token_id", "eos_token"),
            ("unknown_token_id", "unk_token"),
            ("padding_token_id", "pad_token"),
        ] {
            let id = self.metadata.get(&format!("tokenizer.ggml.{key}"));
            let id = id
                .and_then(MetadataValue::as_u64)
                .and_then(|id| usize::try_from(id).ok());
            if let Some(token) = id.and_then(|id| tokens.get(id)) {
                config.insert(name.to_owned(), token.content.into());
            }
        }
        let default = self.text("tokenizer.chat_template");
        let names = self.texts("tokenizer.chat_templates").unwrap_or_default();
        let named = names.iter().filter(|name| **name != "default").filter_map(|name| {
            let source = self.text(&format!("tokenizer.chat_template.{name}"))?;
            Some(json!({ "name": name, "template": source }))
        });
        let mut templates: Vec<Value> = named.collect();
        match (default, templates.is_empty()) {
            (Some(source), true) => {
                config.insert("chat_template".to_owned(), source.into());
            }
            (_, true) => {}
            (default, false) => {
                templates.extend(default.map(|source| json!({ "name": "default", "template": source })));
                config.insert("chat_template".to_owned(), templates.into());
            }
        }
        config.into()
    }

    /// `tokenizer.json`.
    fn tokenizer(&self, tokens: &[Token<'_>]) -> Parsed<Value> {
        let (vocabulary, added) = placed(tokens);
        let mut tokenizer = match self.text("tokenizer.ggml.model") {
            Some("gpt2") => self.byte_level()?,
            other => {
                return Err(format!(
                    "tokenizer.ggml.model is {}; gpt2 is known",
                    other.unwrap_or("missing")
                ));
            }
        };
        tokenizer["model"]["vocab"] = vocabulary.into();
        tokenizer["added_tokens"] = added.into();
        tokenizer["version"] = "1.0".into();
        Ok(tokenizer)
    }

    fn byte_level(&self) -> Parsed<Value> {
        let name = self.text("tokenizer.ggml.pre").unwrap_or("missing");
        let split = SPLITS.iter().find(|split| split.name == name).ok_or_else(|| {
            let known: Vec<&str> = SPLITS.iter().map(|split| split.name).collect();
            format!("tokenizer.ggml.pre is {name}; known are {}", known.join(", "))
        })?;
        let merges: Parsed<Vec<Value>> = self
            .texts("tokenizer.ggml.merges")?
            .into_iter()
            .map(|merge| match merge.split_once(' ') {
                Some((left, right)) => Ok(json!([left, right])),
                None => Err(format!("the merge {merge:?} is no pair")),
            })
            .collect();
        let mut steps: Vec<Value> = split
            .patterns
            .iter()
            .map(|pattern| {
                json!({ "type": "Split", "pattern": { "Regex": pattern }, "behavior": "Isolated", "invert": false })
            })
            .collect();
        let bytes =
            json!({ "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false });
        steps.push(bytes.clone());
        Ok(json!({
            "normalizer": split.nfc.then(|| json!({ "type": "NFC" })),
            "pre_tokenizer": { "type": "Sequence", "pretokenizers": steps },
            "decoder": bytes,
            "model": { "type": "BPE", "ignore_merges": split.ignore_merges, "merges": merges? },
        }))
    }
}

/// A number that is not negative, of any type: token types are signed in the files.
fn natural(value: &MetadataValue) -> Option<u64> {
    value.as_u64().or_else(|| u64::try_from(value.as_i64()?).ok())
}

/// The vocabulary of the model and the added tokens, such that every token has its id: added tokens get the ids after the
/// vocabulary, in their order, unless it has them.
fn placed(tokens: &[Token<'_>]) -> (Map<String, Value>, Vec<Value>) {
    let last_normal = tokens.iter().rposition(|token| token.kind == TokenType::Normal);
    let begin = last_normal.map_or(0, |last| last + 1);
    let last_added = tokens
        .iter()
        .rposition(|token| token.kind.is_added())
        .map_or(0, |last| last + 1);
    let tail = &tokens[begin..last_added.max(begin)];
    let is_gapless = tail.iter().all(|token| token.kind.is_added());
    let in_vocabulary = if is_gapless { begin } else { last_added };
    let mut vocabulary = Map::new();
    for (id, token) in tokens[..in_vocabulary].iter().enumerate() {
        vocabulary.insert(token.content.to_owned(), id.into());
    }
    let added = tokens.iter().enumerate().filter(|(_, token)| token.kind.is_added());
    let added = added.map(|(id, token)| {
        json!({
            "id": id,
            "content": token.content,
            "special": token.kind == TokenType::Control,
            "normalized": false,
            "single_word": false,
            "lstrip": false,
            "rstrip": false,
        })
    });
    (vocabulary, added.collect())
}
