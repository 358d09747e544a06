//! The settings of a checkpoint that media counts depend on.

use crate::{Error, ErrorKind, Result};
use std::borrow::Cow;
use typecase_jinja::value::{Value, json};

/// The contents of `config.json`, `preprocessor_config.json` and `video_preprocessor_config.json`.
///
/// A key that is missing or null has the default of the reference; one of the wrong type is an error that names it.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    config: Value<'a>,
    image: Option<Value<'a>>,
    video: Option<Value<'a>>,
}

/// One of the files, or an object within it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Section<'a> {
    value: Option<Value<'a>>,
    path: &'static str,
}

impl<'a> Settings<'a> {
    /// The settings in these files.
    pub fn new(config: Value<'a>, preprocessor: Option<Value<'a>>, video_preprocessor: Option<Value<'a>>) -> Self {
        Settings {
            config,
            image: preprocessor,
            video: video_preprocessor,
        }
    }

    pub(super) fn config(&self) -> Section<'a> {
        Section {
            value: Some(self.config),
            path: "",
        }
    }

    pub(super) fn image(&self) -> Section<'a> {
        Section {
            value: self.image,
            path: "",
        }
    }

    /// The settings for video, which older checkpoints have in the same file as those for images.
    pub(super) fn video(&self) -> Section<'a> {
        Section {
            value: self.video.or(self.image),
            path: "",
        }
    }

    /// Whether the checkpoint has settings of its own for video.
    pub(super) fn has_video(&self) -> bool {
        self.video.is_some()
    }
}

impl<'a> Section<'a> {
    pub(super) fn section(&self, key: &'static str) -> Section<'a> {
        Section {
            value: self.get(key),
            path: key,
        }
    }

    fn get(&self, key: &str) -> Option<Value<'a>> {
        self.value?.lookup(key).filter(|value| !value.is_none())
    }

    fn name(&self, key: &'static str) -> Cow<'static, str> {
        match self.path {
            "" => Cow::Borrowed(key),
            path => Cow::Owned(format!("{path}.{key}")),
        }
    }

    /// A positive integer.
    pub(super) fn optional_count(&self, key: &'static str) -> Result<Option<u64>> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Int(count, _)) if count > 0 => Ok(Some(count as u64)),
            // Some tools write every number as a float.
            Some(Value::Float(count, _)) if count >= 1.0 && count.fract() == 0.0 && count < 1e15 => {
                Ok(Some(count as u64))
            }
            Some(value) => Err(wrong(&self.name(key), value, "a positive integer")),
        }
    }

    pub(super) fn count(&self, key: &'static str, default: u64) -> Result<u64> {
        Ok(self.optional_count(key)?.unwrap_or(default))
    }

    pub(super) fn float(&self, key: &'static str, default: f64) -> Result<f64> {
        match self.get(key) {
            None => Ok(default),
            Some(Value::Float(number, _)) => Ok(number),
            Some(Value::Int(number, _)) => Ok(number as f64),
            Some(value) => Err(wrong(&self.name(key), value, "a number")),
        }
    }

    pub(super) fn flag(&self, key: &'static str, default: bool) -> Result<bool> {
        match self.get(key) {
            None => Ok(default),
            Some(Value::Bool(flag, _)) => Ok(flag),
            Some(value) => Err(wrong(&self.name(key), value, "true or false")),
        }
    }

    pub(super) fn text(&self, key: &'static str) -> Result<Option<&'a str>> {
        match self.get(key) {
            None => Ok(None),
            Some(value) => match value.as_str() {
                Some(text) => Ok(Some(text)),
                None => Err(wrong(&self.name(key), value, "a string")),
            },
        }
    }
}

/// The error of a setting that is not what it has to be.
pub(crate) fn wrong(key: &str, found: Value<'_>, expected: &str) -> Error {
    let mut found = json::to_string(&found).unwrap_or_else(|_| found.type_name().to_owned());
    if found.len() > 80 {
        found.truncate(found.floor_char_boundary(80));
        found.push('…');
    }
    Error::new(ErrorKind::ModelSetting {
        key: key.to_owned(),
        found,
        expected: expected.to_owned(),
    })
}

/// The error of a setting whose text is none of the possible ones.
pub(super) fn wrong_text(key: &str, found: &str, expected: &str) -> Error {
    Error::new(ErrorKind::ModelSetting {
        key: key.to_owned(),
        found: format!("{found:?}"),
        expected: expected.to_owned(),
    })
}
