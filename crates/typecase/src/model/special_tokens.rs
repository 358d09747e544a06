//! Tokens that a model's configuration names: `bos_token` and the like, which templates may write.

use super::ModelFiles;
use crate::Result;
use typecase_jinja::value::{Arena, Value};

/// How every key that names a token ends. `transformers` takes `image_token` and the like too, not only the seven
/// standard ones.
const SUFFIX: &str = "_token";
/// Lists, or maps from more names, of further tokens.
const EXTRA: &[&str] = &["additional_special_tokens", "extra_special_tokens"];
/// What is in an earlier file hides the same name in a later one.
const FILES: &[&str] = &["tokenizer_config.json", "special_tokens_map.json"];

/// The tokens that have a name: `("bos_token", "<s>")`.
pub(super) fn named(files: &ModelFiles) -> Result<Vec<(String, String)>> {
    let mut named: Vec<(String, String)> = Vec::new();
    for file in FILES {
        with_file(files, file, |config| {
            let mut add = |name: &str, value: Value<'_>| {
                if let Some(content) = content(value)
                    && !named.iter().any(|(known, _)| known == name)
                {
                    named.push((name.to_owned(), content.to_owned()));
                }
            };
            let entries = config.as_dict().into_iter().flat_map(|config| config.str_entries());
            for (name, value) in entries.filter(|(name, _)| name.as_str().ends_with(SUFFIX)) {
                add(name.as_str(), value);
            }
            for extra in EXTRA.iter().filter_map(|key| config.lookup(key)?.as_dict()) {
                for (name, value) in extra.str_entries() {
                    add(name.as_str(), value);
                }
            }
        })?;
    }
    Ok(named)
}

/// The spellings of all tokens that are named or listed, each once.
#[cfg(feature = "huggingface")]
pub(crate) fn contents(files: &ModelFiles) -> Result<Vec<String>> {
    let mut contents: Vec<String> = named(files)?.into_iter().map(|(_, content)| content).collect();
    for file in FILES {
        with_file(files, file, |config| {
            for list in EXTRA.iter().filter_map(|key| config.lookup(key)?.as_list()) {
                contents.extend(
                    list.items()
                        .iter()
                        .filter_map(|token| content(*token))
                        .map(str::to_owned),
                );
            }
        })?;
    }
    let mut seen = std::collections::HashSet::new();
    contents.retain(|content| seen.insert(content.clone()));
    Ok(contents)
}

/// A token is given by its spelling, or by its spelling and flags.
fn content(value: Value<'_>) -> Option<&str> {
    match value.as_str() {
        Some(content) => Some(content),
        None => value.lookup("content")?.as_str(),
    }
}

fn with_file(files: &ModelFiles, file: &str, read: impl FnOnce(Value<'_>)) -> Result<()> {
    if let Some(text) = files.read_optional(file)? {
        let arena = Arena::new();
        read(files.parse(file, &text, &arena)?);
    }
    Ok(())
}
