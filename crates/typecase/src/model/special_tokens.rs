//! Special tokens that a model's configuration names (`bos_token` and the like, which templates may write) or lists.
//!
//! # Source
//! `_from_pretrained` and `__init__` in `tokenization_utils_base.py` of transformers 5.23.0: what is in
//! `special_tokens_map.json` replaces what `tokenizer_config.json` says, but only if that has no `added_tokens_decoder`.

use super::ModelFiles;
use crate::format::chat_template::TOKEN_NAMES;
use crate::{ErrorKind, Result};
use typecase_jinja::value::{Arena, Dict, Value};

/// How every key that names a token ends. `transformers` takes `image_token` and the like too, not only the seven
/// standard ones.
const SUFFIX: &str = "_token";
/// Further tokens: a list, or a map from more names. The second is the older name of the first.
const EXTRA: &str = "extra_special_tokens";
const OLD_EXTRA: &str = "additional_special_tokens";
/// A map from more names.
const MODEL_SPECIFIC: &str = "model_specific_special_tokens";

const CONFIG: &str = "tokenizer_config.json";
const MAP: &str = "special_tokens_map.json";

/// A token as configuration gives it: by its spelling, or by its spelling and flags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConfiguredToken {
    pub(crate) content: String,
    pub(crate) special: bool,
    pub(crate) lstrip: bool,
    pub(crate) rstrip: bool,
    pub(crate) single_word: bool,
    pub(crate) normalized: bool,
}

/// A name and its token.
#[derive(Clone, Debug)]
struct Named {
    name: String,
    /// `None` where the configuration says that there is none.
    token: Option<ConfiguredToken>,
    origin: Origin,
}

/// Who gives a name its token. In this order tokens without a standard name are added to a vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Origin {
    Class,
    Map,
    Config,
}

/// The special tokens of a model.
#[derive(Clone, Debug, Default)]
pub(crate) struct SpecialTokens {
    named: Vec<Named>,
    /// Tokens without a name; `None` where nothing is said of them.
    extra: Option<Vec<ConfiguredToken>>,
}

impl ConfiguredToken {
    /// A special token that is found by its spelling alone.
    pub(crate) fn special(content: impl Into<String>) -> Self {
        ConfiguredToken {
            content: content.into(),
            special: true,
            lstrip: false,
            rstrip: false,
            single_word: false,
            normalized: false,
        }
    }

    /// What an entry of a configuration says. `special`: whatever its flags are.
    pub(crate) fn read(token: Value<'_>, special: bool) -> Option<Self> {
        if let Some(content) = token.as_str() {
            return Some(Self::special(content));
        }
        let flag = |name: &str| match token.lookup(name) {
            Some(Value::Bool(flag, _)) => Some(flag),
            _ => None,
        };
        let special = special || flag("special").unwrap_or(false);
        Some(ConfiguredToken {
            content: token.lookup("content")?.as_str()?.to_owned(),
            special,
            lstrip: flag("lstrip").unwrap_or(false),
            rstrip: flag("rstrip").unwrap_or(false),
            single_word: flag("single_word").unwrap_or(false),
            normalized: flag("normalized").unwrap_or(!special),
        })
    }
}

impl SpecialTokens {
    /// Those that `files` configure.
    pub(crate) fn read(files: &ModelFiles) -> Result<Self> {
        let mut tokens = SpecialTokens::default();
        let mut is_complete = false;
        with_file(files, CONFIG, |config| {
            is_complete = config.get("added_tokens_decoder").is_some();
            tokens.read_names(config, Origin::Config)?;
            let is_said = |list: &Value<'_>| list.as_list().is_some_and(|list| !list.is_empty());
            let extra = config.get(EXTRA).filter(is_said).or_else(|| config.get(OLD_EXTRA));
            tokens.extra = token_list(EXTRA, extra.or_else(|| config.get(EXTRA)))?;
            Ok(())
        })?;
        if !is_complete {
            with_file(files, MAP, |map| {
                tokens.read_names(map, Origin::Map)?;
                let more = token_list(EXTRA, map.get(EXTRA))?;
                let old = token_list(OLD_EXTRA, map.get(OLD_EXTRA))?;
                match (&mut tokens.extra, more) {
                    (Some(extra), Some(more)) => {
                        let is_new = |token: &ConfiguredToken| !extra.contains(token);
                        let more: Vec<_> = more.into_iter().filter(is_new).collect();
                        extra.extend(more);
                    }
                    (extra @ None, more) => *extra = more.or(old),
                    (Some(_), None) => {}
                }
                Ok(())
            })?;
        }
        Ok(tokens)
    }

    /// Reads the names of a file. The second one replaces standard names only.
    fn read_names(&mut self, file: &Dict<'_>, origin: Origin) -> Parsed<()> {
        let is_map = origin == Origin::Map;
        for (name, value) in file.str_entries().filter(|(name, _)| name.as_str().ends_with(SUFFIX)) {
            let (name, token) = (name.as_str(), ConfiguredToken::read(value, is_map));
            let is_standard = is_standard(name);
            let is_kept = is_map && !is_standard && self.is_said(name);
            match (value.is_none() || token.is_some(), is_standard) {
                (true, _) if !is_kept => self.set(name, token, origin),
                (true, _) => {}
                // `add_bos_token` and the like are no tokens.
                (false, false) => {}
                (false, true) => return Err(wrong(name, value)),
            }
        }
        let is_map_of_names = |key: &&str| file.get(key).is_some_and(|extra| extra.as_dict().is_some());
        let mut maps = vec![OLD_EXTRA, EXTRA];
        let has_further = self.named.iter().any(|named| !is_standard(&named.name)) || maps.iter().any(is_map_of_names);
        // Counts only where nothing else of its kind is there.
        if !is_map && !has_further {
            maps.push(MODEL_SPECIFIC);
        }
        for extra in maps.iter().filter_map(|key| file.get(key)?.as_dict()) {
            for (name, value) in extra.str_entries() {
                let token = ConfiguredToken::read(value, is_map).ok_or_else(|| wrong(name.as_str(), value))?;
                self.set(name.as_str(), Some(token), origin);
            }
        }
        Ok(())
    }

    fn is_said(&self, name: &str) -> bool {
        self.named.iter().any(|known| known.name == name)
    }

    fn set(&mut self, name: &str, token: Option<ConfiguredToken>, origin: Origin) {
        let name = name.to_owned();
        let named = Named { name, token, origin };
        match self.named.iter_mut().find(|known| known.name == named.name) {
            Some(known) => *known = named,
            None => self.named.push(named),
        }
    }

    /// Names `token`, unless the configuration says what `name` is, or that it is nothing.
    pub(crate) fn default_name(&mut self, name: &str, token: &str) {
        if !self.is_said(name) {
            self.set(name, Some(ConfiguredToken::special(token)), Origin::Class);
        }
    }

    /// Lists `tokens`, unless the configuration lists some.
    pub(crate) fn default_extra(&mut self, tokens: &[&str]) {
        let tokens = || tokens.iter().map(|token| ConfiguredToken::special(*token)).collect();
        self.extra.get_or_insert_with(tokens);
    }

    /// The spelling of the token `name`.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let named = self.named.iter().find(|known| known.name == name)?;
        named.token.as_ref().map(|token| token.content.as_str())
    }

    /// Tokens without a standard name.
    pub(crate) fn further(&self) -> impl Iterator<Item = &ConfiguredToken> {
        self.named(|name| !is_standard(name)).chain(self.extra.iter().flatten())
    }

    /// Whether a token that has a standard name, or none, is spelled so.
    pub(crate) fn is_standard_or_extra(&self, content: &str) -> bool {
        let mut tokens = self.named(is_standard).chain(self.extra.iter().flatten());
        tokens.any(|token| token.content == content)
    }

    /// Whether a token that has a name is spelled so.
    pub(crate) fn names(&self, content: &str) -> bool {
        self.named(|_| true).any(|token| token.content == content)
    }

    /// The tokens whose names are `wanted`.
    fn named(&self, wanted: impl Fn(&str) -> bool) -> impl Iterator<Item = &ConfiguredToken> {
        let named = self.named.iter().filter(move |named| wanted(&named.name));
        named.filter_map(|named| named.token.as_ref())
    }

    /// The tokens that have a name: `("bos_token", "<s>")`.
    pub(crate) fn into_named(self) -> Vec<(String, String)> {
        let named = self.named.into_iter();
        named
            .filter_map(|named| Some((named.name, named.token?.content)))
            .collect()
    }

    /// All of them, each spelling once: those with a standard name first, as transformers adds them to a vocabulary that
    /// lacks them.
    pub(crate) fn all(&self) -> Vec<ConfiguredToken> {
        let place = |name: &str| TOKEN_NAMES.iter().position(|standard| *standard == name);
        let mut named: Vec<&Named> = self.named.iter().collect();
        named.sort_by_key(|named| (place(&named.name).unwrap_or(TOKEN_NAMES.len()), named.origin));
        let named = named.into_iter().filter_map(|named| {
            // Whatever its flags say.
            let token = named.token.clone()?;
            Some(ConfiguredToken { special: true, ..token })
        });
        let mut all: Vec<ConfiguredToken> = Vec::new();
        for token in named.chain(self.extra.iter().flatten().cloned()) {
            if !all.iter().any(|known| known.content == token.content) {
                all.push(token);
            }
        }
        all
    }
}

/// Whether every tokenizer knows a token of this name.
fn is_standard(name: &str) -> bool {
    TOKEN_NAMES.contains(&name)
}

/// Tokens without names; a map has names, which are read elsewhere.
fn token_list(key: &str, list: Option<Value<'_>>) -> Parsed<Option<Vec<ConfiguredToken>>> {
    match list {
        None | Some(Value::None(_) | Value::Dict(_)) => Ok(None),
        Some(Value::List(list)) => {
            let tokens = list.items().iter();
            let read = |token: &Value<'_>| ConfiguredToken::read(*token, false).ok_or_else(|| wrong(key, *token));
            tokens.map(read).collect::<Parsed<_>>().map(Some)
        }
        Some(found) => Err(format!("{key}: {}", ErrorKind::wrong_type(found, "an array of tokens"))),
    }
}

/// What a file says, or what is wrong with it.
type Parsed<T> = std::result::Result<T, String>;

fn wrong(key: &str, found: Value<'_>) -> String {
    let found = ErrorKind::wrong_type(found, "a token: its spelling, or an object with its content");
    format!("{key}: {found}")
}

fn with_file(files: &ModelFiles, file: &str, read: impl FnOnce(&Dict<'_>) -> Parsed<()>) -> Result<()> {
    if let Some(text) = files.read_optional(file)? {
        let arena = Arena::new();
        if let Some(config) = files.parse(file, &text, &arena)?.as_dict() {
            read(config).map_err(|reason| files.broken(file, reason))?;
        }
    }
    Ok(())
}
