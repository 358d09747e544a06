//! Chat templates that come with a model, and where each is from.
//!
//! `chat_template.jinja` and the files of `additional_chat_templates/` come first; only where there are none,
//! `chat_template` in `tokenizer_config.json`, a text or a list of names and texts; then `chat_template.json` and
//! `processor_config.json`, where processors had theirs. This is the order of `transformers` 5.

use super::ModelFiles;
use crate::{Error, ErrorKind, Result};
use typecase_jinja::value::Arena;

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
            if let Some(source) = value.as_str() {
                templates.push(template(DEFAULT, source.to_owned(), file));
            }
            for entry in value.as_list().map_or(&[][..], |list| list.items()) {
                let text = |key: &str| entry.lookup(key).and_then(|text| text.as_str());
                match (text("name"), text("template")) {
                    (Some(name), Some(source)) => templates.push(template(name, source.to_owned(), file)),
                    _ => {
                        return Err(Error::new(ErrorKind::BrokenModelFile {
                            file: files.path_of(file),
                            reason: "an entry of the list chat_template lacks its name or its template".to_owned(),
                        }));
                    }
                }
            }
        }
        Ok(templates)
    }
}

fn template(name: &str, source: String, file: &str) -> NamedTemplate {
    NamedTemplate {
        name: name.to_owned(),
        source,
        file: file.to_owned(),
    }
}
