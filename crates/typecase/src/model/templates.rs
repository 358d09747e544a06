//! Chat templates that come with a model, and where each is from.
//!
//! `chat_template.jinja` and the files of `additional_chat_templates/` come first; only where there are none,
//! `chat_template` in `tokenizer_config.json`, a text, or names and texts as a list or a map; then `chat_template.json` and
//! `processor_config.json`, where processors had theirs. This is the order of `transformers` 5.

use super::ModelFiles;
use crate::{ErrorKind, Result};
use typecase_jinja::value::{Arena, Value};

/// One template of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedTemplate {
    /// Its name: `default`, `tool_use`, `rag`, ...
    pub name: String,
    /// Its text.
    pub source: String,
    /// The file it was found in.
    pub file: String,
}

const DEFAULT: &str = "default";

impl NamedTemplate {
    /// Those in `files`.
    pub(super) fn find(files: &ModelFiles) -> Result<Vec<Self>> {
        let mut templates = Vec::new();
        if let Some(source) = files.read_optional("chat_template.jinja")? {
            templates.push(template(DEFAULT, source, "chat_template.jinja"));
        }
        for file in files.list(ModelFiles::TEMPLATE_FOLDER)? {
            if let Some(name) = file.strip_suffix(".jinja") {
                let file = format!("{}/{file}", ModelFiles::TEMPLATE_FOLDER);
                templates.push(template(name, files.read(&file)?, &file));
            }
        }
        for file in ["tokenizer_config.json", "chat_template.json", "processor_config.json"] {
            if !templates.is_empty() {
                break;
            }
            let Some(text) = files.read_optional(file)? else {
                continue;
            };
            let arena = Arena::new();
            let Some(value) = files.parse(file, &text, &arena)?.lookup("chat_template") else {
                continue;
            };
            templates =
                in_config(value, file).map_err(|reason| files.broken(file, format!("chat_template: {reason}")))?;
        }
        Ok(templates)
    }
}

/// The templates that the value of `chat_template` in `file` holds: one, a list of names and templates, or a map from names.
fn in_config(value: Value<'_>, file: &str) -> std::result::Result<Vec<NamedTemplate>, String> {
    let named = |name: &str, source: Value<'_>| match source.as_str() {
        Some(source) => Ok(template(name, source.to_owned(), file)),
        None => Err(format!("{name}: {}", ErrorKind::wrong_type(source, "a template"))),
    };
    match value {
        Value::None(_) => Ok(Vec::new()),
        Value::Str(source) => Ok(vec![template(DEFAULT, source.as_str().to_owned(), file)]),
        Value::Dict(map) => (map.str_entries())
            .map(|(name, source)| named(name.as_str(), source))
            .collect(),
        Value::List(list) => (list.items().iter())
            .map(|entry| match (entry.lookup("name"), entry.lookup("template")) {
                (Some(Value::Str(name)), Some(source)) => named(name.as_str(), source),
                _ => Err("an entry of the list lacks its name or its template".to_owned()),
            })
            .collect(),
        found => Err(ErrorKind::wrong_type(found, "a template, a list or a map of some").to_string()),
    }
}

fn template(name: &str, source: String, file: &str) -> NamedTemplate {
    NamedTemplate {
        name: name.to_owned(),
        source,
        file: file.to_owned(),
    }
}
