//! Vocabularies in `tiktoken.model`: one line per token, its bytes in base64 and its rank, which is its id.
//!
//! The file has neither the pattern that text is split by nor the special tokens. Both follow from the family, which
//! `tokenizer_config.json` names; Kimi's is the one known. Its special tokens are the 256 ids after the ranks: those that
//! `added_tokens_decoder` names, and `<|reserved_token_N|>` for every other id N. All are looked for in control text,
//! whether flagged special or not.

use super::added_tokens::{AddedToken, AddedTokens};
use super::byte_table::ByteTable;
use super::vocabulary::Vocabulary;
use super::{Tokenizer, chunking};
use crate::model::ModelFiles;
use crate::{Error, ErrorKind, Result};
use fastokens::{KIMI_PATTERN, KIMI_RESERVED_SPECIAL_TOKENS};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use typecase_jinja::value::{Arena, Value};

pub(super) const FILE: &str = "tiktoken.model";
const CONFIG: &str = "tokenizer_config.json";

/// Reads `tiktoken.model` and `tokenizer_config.json`.
pub(super) fn load(files: &ModelFiles) -> Result<Tokenizer> {
    let broken = |reason: String| {
        Error::new(ErrorKind::BrokenModelFile {
            file: files.path_of(FILE),
            reason,
        })
    };
    let ranks = fastokens::tiktoken::parse_tiktoken_model(&files.read(FILE)?).map_err(|err| broken(err.to_string()))?;
    check(&ranks).map_err(broken)?;
    let arena = Arena::new();
    let config = files.read(CONFIG)?;
    let config = files.parse(CONFIG, &config, &arena)?;
    if !is_kimi(config) {
        return Err(Error::new(ErrorKind::BrokenModelFile {
            file: files.path_of(CONFIG),
            reason: "of the families with a tiktoken.model only Kimi's split pattern is known, and neither \
                     tokenizer_class nor auto_map names it"
                .to_owned(),
        }));
    }
    let window = special_window(config, ranks.len() as u32);
    let inner = fastokens::Tokenizer::from_tiktoken_ranks_with_added_tokens(&ranks, KIMI_PATTERN, &[])
        .map_err(|err| broken(err.to_string()))?;
    let bytes = ByteTable::new(ranks.iter().map(|(bytes, rank)| (*rank, bytes.as_slice())));
    Ok(Tokenizer::new(
        Box::new(Ranks { inner, bytes }),
        AddedTokens::new(window),
    ))
}

/// What the split into merges relies on: ranks are 0, 1, ... in some order, every byte has one, no bytes have two.
fn check(ranks: &[(Vec<u8>, u32)]) -> std::result::Result<(), String> {
    let mut seen = vec![false; ranks.len()];
    let mut bytes = HashSet::with_capacity(ranks.len());
    for (token, rank) in ranks {
        match seen.get_mut(*rank as usize) {
            Some(seen) if !*seen => *seen = true,
            Some(_) => return Err(format!("rank {rank} is given twice")),
            None => return Err(format!("rank {rank} leaves a gap: there are {} tokens", ranks.len())),
        }
        if token.is_empty() || !bytes.insert(token.as_slice()) {
            return Err(format!("the token of rank {rank} is empty or has another rank as well"));
        }
    }
    match (0..=255u8).find(|byte| !bytes.contains([*byte].as_slice())) {
        Some(byte) => Err(format!(
            "byte 0x{byte:02x} has no rank, so some text could not be encoded"
        )),
        None => Ok(()),
    }
}

fn is_kimi(config: Value<'_>) -> bool {
    let class = config.lookup("tokenizer_class").and_then(|class| class.as_str());
    let auto = config
        .lookup("auto_map")
        .and_then(|map| map.lookup("AutoTokenizer"))
        .and_then(|auto| match auto.as_list() {
            Some(list) => list.items().first().and_then(Value::as_str),
            None => auto.as_str(),
        });
    class == Some("TikTokenTokenizer") && auto.is_some_and(|module| module.starts_with("tokenization_kimi"))
}

/// The special tokens of the window after `ranks` ranks. Names for ids outside of it are ignored, as the reference does.
fn special_window(config: Value<'_>, ranks: u32) -> Vec<AddedToken> {
    let entries = config
        .lookup("added_tokens_decoder")
        .and_then(|tokens| tokens.as_dict());
    let mut named: HashMap<u32, Value<'_>> = entries
        .into_iter()
        .flat_map(|tokens| tokens.str_entries())
        .filter_map(|(id, token)| Some((id.as_str().parse().ok()?, token)))
        .collect();
    let flag = |token: Option<Value<'_>>, name: &str, default: bool| match token.and_then(|token| token.lookup(name)) {
        Some(Value::Bool(flag, _)) => flag,
        _ => default,
    };
    (ranks..ranks.saturating_add(KIMI_RESERVED_SPECIAL_TOKENS))
        .map(|id| {
            let token = named.remove(&id);
            let content = token
                .and_then(|token| token.lookup("content"))
                .and_then(|content| content.as_str());
            AddedToken {
                id,
                content: content.map_or_else(|| format!("<|reserved_token_{id}|>"), str::to_owned),
                special: flag(token, "special", true),
                // tiktoken knows no stripping: a special token is its bytes.
                lstrip: false,
                rstrip: false,
                single_word: false,
                normalized: false,
            }
        })
        .collect()
}

/// Ranks, the family's pattern, and its cutting of long text.
struct Ranks {
    inner: fastokens::Tokenizer,
    bytes: ByteTable,
}

impl std::fmt::Debug for Ranks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Ranks({:?})", self.bytes)
    }
}

impl Vocabulary for Ranks {
    fn encode(&self, text: &str, ids: &mut Vec<u32>) -> Result<()> {
        for chunk in chunking::chunks(text) {
            let encoded = self.inner.encode_ordinary(chunk).map_err(|err| {
                Error::new(ErrorKind::Encoding {
                    reason: err.to_string(),
                })
            })?;
            match ids.is_empty() {
                true => *ids = encoded,
                false => ids.extend_from_slice(&encoded),
            }
        }
        Ok(())
    }

    fn ranges(&self, text: &str, start: usize, ids: &[u32], ranges: &mut Vec<Range<usize>>) -> Result<()> {
        let end = self.bytes.ranges(ids, start, ranges);
        debug_assert_eq!(end, start + text.len(), "byte-level tokens joined are the text");
        Ok(())
    }

    fn token_bytes(&self, id: u32) -> Option<&[u8]> {
        self.bytes.token(id)
    }
}
