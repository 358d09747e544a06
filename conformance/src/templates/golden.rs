//! The oracle's files: JSON Lines, the first of which says how they were made.

use anyhow::{Context, Result, bail};
use flate2::read::MultiGzDecoder;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use typecase::value::{Arena, Value, json};

/// What a render is expected to give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    Text {
        text: String,
        spans: Option<Vec<(usize, usize)>>,
        /// The address of an object was printed, so that no other implementation can give the same.
        address: bool,
    },
    Error {
        kind: String,
        message: String,
    },
}

/// The results of an oracle.
#[derive(Debug, Default)]
pub(crate) struct Golden {
    /// The instant that `strftime_now` saw.
    pub(super) now: Option<String>,
    /// `bos_token` and the like.
    pub(super) special_tokens: Vec<(String, String)>,
    /// By template and conversation.
    results: HashMap<String, HashMap<String, Expected>>,
}

impl Golden {
    /// Reads a file, compressed if its name ends in `.gz`.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let file = File::open(path).with_context(|| path.display().to_string())?;
        let reader: Box<dyn Read> = match path.extension().is_some_and(|extension| extension == "gz") {
            true => Box::new(MultiGzDecoder::new(BufReader::new(file))),
            false => Box::new(file),
        };
        let mut golden = Golden::default();
        for (number, line) in BufReader::new(reader).lines().enumerate() {
            let line = line.with_context(|| path.display().to_string())?;
            if !line.is_empty() {
                golden
                    .add(&line)
                    .with_context(|| format!("{}, line {}", path.display(), number + 1))?;
            }
        }
        Ok(golden)
    }

    fn add(&mut self, line: &str) -> Result<()> {
        let arena = Arena::new();
        let Ok(value) = json::parse_str(line, &arena) else {
            bail!("no JSON");
        };
        if let Some(meta) = value.lookup("meta") {
            self.now = meta.lookup("now").and_then(|now| now.as_str()).map(str::to_owned);
            let tokens = meta.lookup("special_tokens").and_then(|tokens| tokens.as_dict());
            for (name, token) in tokens.into_iter().flat_map(|tokens| tokens.str_entries()) {
                let token = token.as_str().context("a special token is no string")?;
                self.special_tokens.push((name.as_str().to_owned(), token.to_owned()));
            }
            return Ok(());
        }
        let field = |name: &str| value.lookup(name).and_then(|value| value.as_str());
        let template = field("template").context("no `template`")?;
        let conversation = field("conversation").context("no `conversation`")?;
        let expected = match (field("text"), value.lookup("error")) {
            (Some(text), None) => Expected::Text {
                text: text.to_owned(),
                spans: value.lookup("spans").map(spans).transpose()?,
                address: value.lookup("address").is_some(),
            },
            (None, Some(error)) => {
                let field = |name: &str| error.lookup(name).and_then(|value| value.as_str());
                Expected::Error {
                    kind: field("kind").context("an error without `kind`")?.to_owned(),
                    message: field("message").unwrap_or_default().to_owned(),
                }
            }
            _ => bail!("neither `text` nor `error`"),
        };
        // Nearly all lines of a template follow each other: the name is copied once.
        if !self.results.contains_key(template) {
            self.results.insert(template.to_owned(), HashMap::new());
        }
        if let Some(results) = self.results.get_mut(template) {
            results.insert(conversation.to_owned(), expected);
        }
        Ok(())
    }

    /// What a template is expected to give for a conversation.
    pub(super) fn find(&self, template: &str, conversation: &str) -> Option<&Expected> {
        self.results.get(template)?.get(conversation)
    }

    /// Number of results.
    pub(super) fn len(&self) -> usize {
        self.results.values().map(HashMap::len).sum()
    }
}

/// Pairs of code points.
pub(crate) fn spans(value: Value<'_>) -> Result<Vec<(usize, usize)>> {
    let number = |value: &Value<'_>| match value {
        Value::Int(number, _) => usize::try_from(*number).ok(),
        _ => None,
    };
    let pair = |pair: &Value<'_>| match pair.as_list()?.items() {
        [start, end] => Some((number(start)?, number(end)?)),
        _ => None,
    };
    let pairs = value
        .as_list()
        .and_then(|pairs| pairs.items().iter().map(pair).collect());
    pairs.context("`spans` are no pairs of numbers")
}
