//! Which chat templates are measured, and how each wants tool arguments.

use std::{fs, path::PathBuf};

use serde::Deserialize;

/// How a template reads `tool_calls[].function.arguments`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arguments {
    /// Prints the JSON string as it came.
    String,
    /// Needs the object: prints it with `tojson` or walks its keys. A frontend decodes the wire form first.
    Object,
}

/// A chat template under test.
#[derive(Debug, Clone, Deserialize)]
pub struct ChatTemplate {
    /// Our name for it, used in benchmark ids.
    pub name: String,
    /// File name in the templates directory.
    pub file: String,
    /// The form in which it takes tool arguments.
    pub arguments: Arguments,
    /// The source, read by [`load`].
    #[serde(skip)]
    pub source: String,
}

/// Reads the templates of `templates.json` from the directory that `TYPECASE_TEMPLATES` names.
///
/// # Errors
/// If the variable is not set or a file is missing.
pub fn load() -> Result<Vec<ChatTemplate>, String> {
    let directory = std::env::var_os("TYPECASE_TEMPLATES")
        .map(PathBuf::from)
        .ok_or("TYPECASE_TEMPLATES is not set: the directory of chat templates (see README)")?;
    let mut table: Vec<ChatTemplate> =
        serde_json::from_str(include_str!("../templates.json")).map_err(|err| format!("templates.json: {err}"))?;
    for template in &mut table {
        let path = directory.join(&template.file);
        template.source = fs::read_to_string(&path).map_err(|err| format!("{}: {err}", path.display()))?;
    }
    Ok(table)
}
