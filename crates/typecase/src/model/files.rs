//! Where a model's files come from: a directory, or this crate itself.

use crate::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use typecase_jinja::value::{Arena, Value, json};

/// The files of a model.
#[derive(Clone, Debug)]
pub struct ModelFiles(Place);

#[derive(Clone, Debug)]
enum Place {
    Directory(PathBuf),
    Embedded(&'static [(&'static str, &'static str)]),
    Memory { name: String, files: Vec<(String, String)> },
}

macro_rules! demo_file {
    ($name:literal) => {
        ($name, include_str!(concat!("../../models/kimi-k3-demo/", $name)))
    };
}

const DEMO: &[(&str, &str)] = &[
    demo_file!("config.json"),
    demo_file!("generation_config.json"),
    demo_file!("tokenizer_config.json"),
    demo_file!("tiktoken.model"),
];

impl ModelFiles {
    /// The files of which ids, prompts and the expansion of media are made, beside those in
    /// [`TEMPLATE_FOLDER`](Self::TEMPLATE_FOLDER).
    pub const NAMES: &'static [&'static str] = &[
        "config.json",
        "generation_config.json",
        "tokenizer.json",
        "tiktoken.model",
        "tekken.json",
        "tokenizer_config.json",
        "special_tokens_map.json",
        "added_tokens.json",
        "chat_template.jinja",
        "chat_template.json",
        "processor_config.json",
        "preprocessor_config.json",
        "video_preprocessor_config.json",
    ];

    /// The folder of further chat templates.
    pub const TEMPLATE_FOLDER: &'static str = "additional_chat_templates";

    /// The files of a model, given by its directory or, with the feature `hub`, its Hugging Face hub id, or, with the
    /// feature `gguf`, a file `*.gguf`.
    ///
    /// # Errors
    /// As [`directory`](Self::directory), or [`ErrorKind::ModelFromHub`] (server).
    pub fn open(model: &Path) -> Result<Self> {
        #[cfg(feature = "gguf")]
        if model.extension().is_some_and(|extension| extension == "gguf") && !model.is_dir() {
            return super::gguf::files(model);
        }
        #[cfg(feature = "hub")]
        if let Some(id) = model.to_str()
            && !model.exists()
            && super::hub::HubId::parse(id).is_ok()
        {
            return super::Hub::from_env().files(id);
        }
        Self::directory(model)
    }

    /// The files in `directory`.
    ///
    /// # Errors
    /// [`ErrorKind::NoModelDirectory`] (server) if there is none.
    pub fn directory(directory: &Path) -> Result<Self> {
        if !directory.is_dir() {
            return Err(Error::new(ErrorKind::NoModelDirectory {
                directory: directory.display().to_string(),
            }));
        }
        Ok(ModelFiles(Place::Directory(directory.to_owned())))
    }

    /// Files that are texts in memory: pairs of a file's name and its text. `name` is for messages.
    ///
    /// # Example
    /// A model of a chat template and a vocabulary of three words:
    /// ```
    /// use typecase::model::{Model, ModelFiles};
    /// use typecase::{ChatRequest, value::Arena};
    /// let template = "{% for m in messages %}{{ m.content }}{{ eos_token }}{% endfor %}";
    /// let vocabulary = r#"{
    ///     "added_tokens": [{"id": 3, "content": "</s>", "special": true, "single_word": false, "lstrip": false,
    ///                       "rstrip": false, "normalized": false}],
    ///     "pre_tokenizer": {"type": "Whitespace"},
    ///     "model": {"type": "WordLevel", "vocab": {"?": 0, "good": 1, "morning": 2}, "unk_token": "?"}}"#;
    /// let files = [
    ///     ("chat_template.jinja", template),
    ///     ("tokenizer.json", vocabulary),
    ///     ("tokenizer_config.json", r#"{"eos_token": "</s>"}"#),
    /// ];
    /// let files = files.map(|(name, text)| (name.to_owned(), text.to_owned()));
    /// let model = Model::from_files(ModelFiles::in_memory("a small model", files))?;
    ///
    /// let mut body = br#"{"messages": [{"role": "user", "content": "good morning"}]}"#.to_vec();
    /// let arena = Arena::new();
    /// let request = ChatRequest::parse(&mut body, &arena)?;
    /// let prompt = model.render(&request, &Default::default())?;
    /// assert_eq!(prompt.text(), "good morning</s>");
    /// assert_eq!(model.encode(&prompt)?.ids(), [1, 2, 3]);
    /// assert_eq!(model.stop_ids(), [3]);
    /// # Ok::<(), typecase::Error>(())
    /// ```
    pub fn in_memory(name: impl Into<String>, files: impl IntoIterator<Item = (String, String)>) -> Self {
        ModelFiles(Place::Memory {
            name: name.into(),
            files: files.into_iter().collect(),
        })
    }

    /// Those of the [small model](super::Model::demo) that comes with this crate.
    pub fn demo() -> Self {
        ModelFiles(Place::Embedded(DEMO))
    }

    /// The directory, for messages.
    pub fn name(&self) -> String {
        match &self.0 {
            Place::Directory(directory) => directory.display().to_string(),
            Place::Embedded(_) => "the embedded demo model".to_owned(),
            Place::Memory { name, .. } => name.clone(),
        }
    }

    /// Where a file is or would be, for messages.
    pub fn path_of(&self, file: &str) -> String {
        match &self.0 {
            Place::Directory(directory) => directory.join(file).display().to_string(),
            Place::Embedded(_) => format!("{file} of the embedded demo model"),
            Place::Memory { name, .. } => format!("{file} of {name}"),
        }
    }

    /// Whether there is such a file.
    pub fn has(&self, file: &str) -> bool {
        match &self.0 {
            // A link to nothing counts as a file: whoever reads it is told.
            Place::Directory(directory) => {
                let path = directory.join(file);
                path.is_file() || path.is_symlink() && !path.exists()
            }
            Place::Embedded(files) => files.iter().any(|(name, _)| *name == file),
            Place::Memory { files, .. } => files.iter().any(|(name, _)| name == file),
        }
    }

    /// The text of a file.
    ///
    /// # Errors
    /// [`ErrorKind::MissingModelFile`] or [`ErrorKind::BrokenModelFile`] (server), which name it.
    pub fn read(&self, file: &str) -> Result<String> {
        match &self.0 {
            Place::Embedded(files) => match files.iter().find(|(name, _)| *name == file) {
                Some((_, text)) => Ok((*text).to_owned()),
                None => Err(self.missing(file)),
            },
            Place::Memory { files, .. } => match files.iter().find(|(name, _)| name == file) {
                Some((_, text)) => Ok(text.clone()),
                None => Err(self.missing(file)),
            },
            Place::Directory(directory) => {
                let path = directory.join(file);
                std::fs::read_to_string(&path).map_err(|err| match err.kind() {
                    std::io::ErrorKind::NotFound if path.is_symlink() => {
                        self.broken(file, "is a link to a file that is not there".to_owned())
                    }
                    std::io::ErrorKind::NotFound => self.missing(file),
                    _ => self.broken(file, err.to_string()).caused_by(err),
                })
            }
        }
    }

    /// The text of a file that need not be there.
    ///
    /// # Errors
    /// [`ErrorKind::BrokenModelFile`] (server) if it is there and cannot be read.
    pub fn read_optional(&self, file: &str) -> Result<Option<String>> {
        match self.read(file) {
            Ok(text) => Ok(Some(text)),
            Err(err) if matches!(err.kind(), ErrorKind::MissingModelFile { .. }) => Ok(None),
            Err(err) => Err(err),
        }
    }

    /// The names of the files in a folder of the model, sorted; none if there is no such folder.
    ///
    /// # Errors
    /// [`ErrorKind::BrokenModelFile`] (server) if the folder cannot be read.
    pub fn list(&self, folder: &str) -> Result<Vec<String>> {
        let Place::Directory(directory) = &self.0 else {
            return Ok(Vec::new());
        };
        let broken = |err: std::io::Error| self.broken(folder, err.to_string()).caused_by(err);
        let entries = match std::fs::read_dir(directory.join(folder)) {
            Ok(entries) => entries,
            Err(err) if err.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(err) => return Err(broken(err)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(broken)?;
            if let Ok(name) = entry.file_name().into_string() {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// Reads the JSON object in `text`, which is that of `file`.
    pub(crate) fn parse<'a>(&self, file: &str, text: &str, arena: &'a Arena) -> Result<Value<'a>> {
        let value = json::parse_str(text, arena).map_err(|err| self.broken(file, err.to_string()).caused_by(err))?;
        match value {
            Value::Dict(_) => Ok(value),
            found => Err(self.broken(file, ErrorKind::wrong_type(found, "an object").to_string())),
        }
    }

    fn missing(&self, file: &str) -> Error {
        Error::new(ErrorKind::MissingModelFile {
            file: self.path_of(file),
        })
    }

    pub(crate) fn broken(&self, file: &str, reason: String) -> Error {
        Error::new(ErrorKind::BrokenModelFile {
            file: self.path_of(file),
            reason,
        })
    }
}
