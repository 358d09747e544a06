//! What a run that may be taken up was made with, and how far it surely came: a small file beside the output.
//!
//! It is replaced, never written over: first the rows are made durable, then the manifest that speaks of them. So whatever
//! a power cut leaves, the manifest is whole and what it promises is there.

use super::FileKind;
use crate::args::{Batch, FormatName, Profile, Trust};
use crate::renderer::Renderer;
use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use twox_hash::XxHash3_128;
use typecase::format::LocalTime;
use typecase::model::ModelFiles;

/// The manifest of an output.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// What decides on the rows, by the names that a message gives it.
    made_with: BTreeMap<String, String>,
    /// The local time that templates see: a run that is taken up has that of its beginning.
    now: Now,
    pub(super) progress: Progress,
}

/// How far a run came, whatever happens.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Progress {
    pub(super) rows: u64,
    /// How many of them are errors.
    pub(super) refused: u64,
    /// Where the rows end in an output of lines.
    pub(super) output_bytes: u64,
    /// Of the digests of all requests up to there.
    pub(super) input_digest: String,
    /// Whether the output is complete.
    pub(super) complete: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Now {
    time: String,
    utc_offset_seconds: i32,
}

/// Where the manifest of an output is.
pub(super) fn path(output: &Path) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    name.push(".manifest.json");
    name.into()
}

impl Manifest {
    /// Of a run that begins. `now`: what its templates see.
    pub(super) fn new(args: &Batch, kinds: (FileKind, FileKind), renderer: &Renderer, now: LocalTime) -> Result<Self> {
        let source = &args.source;
        let fields: Vec<String> = args.fields.iter().map(value_name).collect();
        let special: Vec<String> = source
            .special
            .iter()
            .map(|(name, token)| format!("{name}={token}"))
            .collect();
        let template = match &source.template {
            Some(file) => digest_of([fs::read(file).with_context(|| file.display().to_string())?]),
            None => "none".to_owned(),
        };
        let made_with = [
            ("typecase", env!("CARGO_PKG_VERSION").to_owned()),
            ("the kind of the input", kinds.0.name().to_owned()),
            ("the kind of the output", kinds.1.name().to_owned()),
            ("the model", model_digest(renderer)?),
            ("the template", template),
            ("--fields", fields.join(",")),
            (
                "--format",
                source
                    .format
                    .as_ref()
                    .map_or("none".to_owned(), value_name::<FormatName>),
            ),
            (
                "--template-name",
                source.template_name.clone().unwrap_or("none".to_owned()),
            ),
            ("--special", special.join(" ")),
            ("--profile", value_name::<Profile>(&source.profile)),
            ("--trust", value_name::<Trust>(&source.trust)),
        ];
        Ok(Manifest {
            made_with: made_with
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            now: Now {
                time: now_text(now),
                utc_offset_seconds: now.utc_offset_seconds,
            },
            progress: Progress::default(),
        })
    }

    /// That of an output; `None` if there is none.
    pub(super) fn read(output: &Path) -> Result<Option<Self>> {
        let file = path(output);
        match fs::read(&file) {
            Ok(bytes) => Ok(Some(
                serde_json::from_slice(&bytes).with_context(|| file.display().to_string())?,
            )),
            Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(err) => Err(err).with_context(|| file.display().to_string()),
        }
    }

    /// Refuses to take up a run that was made with something else.
    pub(super) fn check(&self, earlier: &Manifest) -> Result<()> {
        let none = "none".to_owned();
        let mut changed = Vec::new();
        for (name, now) in &self.made_with {
            let was = earlier.made_with.get(name).unwrap_or(&none);
            if was != now {
                changed.push(format!("{name} was {was}, now {now}"));
            }
        }
        if self.now != earlier.now {
            changed.push(format!("--now was {}, now {}", earlier.now.time, self.now.time));
        }
        if changed.is_empty() {
            return Ok(());
        }
        bail!(
            "--resume: the first run was another one: {}; --overwrite begins anew",
            changed.join("; ")
        )
    }

    /// The time that templates saw.
    pub(super) fn now(&self) -> Result<LocalTime> {
        let time = crate::clock::parse(&self.now.time).map_err(anyhow::Error::msg)?;
        Ok(LocalTime {
            utc_offset_seconds: self.now.utc_offset_seconds,
            ..time
        })
    }

    /// Replaces the manifest of `output`, durably.
    pub(super) fn write(&self, output: &Path) -> Result<()> {
        let file = path(output);
        self.replace(&file).with_context(|| file.display().to_string())
    }

    fn replace(&self, file: &Path) -> io::Result<()> {
        let new = file.with_extension("json.new");
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        let mut written = File::create(&new)?;
        written.write_all(&text)?;
        written.sync_all()?;
        fs::rename(&new, file)?;
        sync_folder_of(file)
    }
}

/// Makes durable which files are in the folder of `file`.
pub(super) fn sync_folder_of(file: &Path) -> io::Result<()> {
    let folder = match file.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    // Elsewhere folders cannot be opened, and the system sees to it.
    if cfg!(unix) {
        File::open(folder)?.sync_all()
    } else {
        Ok(())
    }
}

fn value_name<V: ValueEnum>(value: &V) -> String {
    value
        .to_possible_value()
        .map_or(String::new(), |value| value.get_name().to_owned())
}

fn now_text(now: LocalTime) -> String {
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}",
        now.year, now.month, now.day, now.hour, now.minute, now.second, now.microsecond
    )
}

/// Of the files' contents: a model may be moved.
fn model_digest(renderer: &Renderer) -> Result<String> {
    let Some(model) = renderer.model() else {
        return Ok("none".to_owned());
    };
    let (files, folder) = (model.files(), ModelFiles::TEMPLATE_FOLDER);
    let mut texts = Vec::new();
    for file in ModelFiles::NAMES {
        texts.push(files.read_optional(file)?.unwrap_or_default().into_bytes());
    }
    for file in files.list(folder)? {
        texts.push(files.read(&format!("{folder}/{file}"))?.into_bytes());
        texts.push(file.into_bytes());
    }
    Ok(digest_of(texts))
}

fn digest_of(texts: impl IntoIterator<Item = Vec<u8>>) -> String {
    let mut digest = Digest::default();
    for text in texts {
        digest.add(&text);
    }
    digest.to_string()
}

/// A digest of texts in their order. It tells what was changed by chance, not by an enemy.
#[derive(Clone)]
pub(super) struct Digest(XxHash3_128);

impl Default for Digest {
    fn default() -> Self {
        Digest(XxHash3_128::new())
    }
}

impl Digest {
    pub(super) fn add(&mut self, text: &[u8]) {
        // The length as well: `ab`, `c` is not `a`, `bc`.
        self.0.write(&(text.len() as u64).to_le_bytes());
        self.0.write(text);
    }

    /// That of a single text.
    pub(super) fn of(text: &[u8]) -> u128 {
        XxHash3_128::oneshot(text)
    }
}

impl std::fmt::Display for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:032x}", self.0.finish_128())
    }
}
