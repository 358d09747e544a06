//! `typecase inspect`.

use crate::args::{Explained, Inspect};
use crate::exit::Outcome;
use crate::output::{Out, json_line};
use crate::renderer;
use crate::view::{CONTROL, NOTE, visible};
use anyhow::Result;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use typecase::Model;
use typecase::format::ChatTemplate;
use typecase::media::{self, Anchor};
use typecase::model::NamedTemplate;

pub(crate) fn run(args: &Inspect) -> Result<Outcome> {
    let (model, name) = renderer::open(args.model.as_deref())?;
    let report = Report::new(&model, name);
    let mut out = Out::new(args.output == Explained::View);
    match args.output {
        Explained::Json => json_line(&mut out, &report)?,
        Explained::View => report.print(&mut out)?,
    }
    out.flush()?;
    Ok(Outcome::Done)
}

/// What `inspect --help` documents.
#[derive(Debug, Serialize)]
struct Report<'m> {
    model: String,
    format: Option<&'static str>,
    model_type: Option<&'m str>,
    architectures: &'m [String],
    files: Vec<File>,
    templates: Vec<Template<'m>>,
    named_tokens: BTreeMap<&'m str, &'m str>,
    added_tokens: Vec<Added<'m>>,
    stop_ids: &'m [u32],
    media: Option<Media>,
}

#[derive(Debug, Serialize)]
struct File {
    file: String,
    gives: String,
}

#[derive(Debug, Default, Serialize)]
struct Template<'m> {
    name: &'m str,
    file: &'m str,
    variables: BTreeSet<String>,
    keys: BTreeSet<String>,
    globals: BTreeSet<String>,
    filters: BTreeSet<String>,
    iterates_content: bool,
    has_generation: bool,
    error: Option<String>,
}

#[derive(Debug, Serialize)]
struct Added<'m> {
    id: u32,
    content: &'m str,
    special: bool,
}

#[derive(Debug, Serialize)]
struct Media {
    family: &'static str,
    items: Vec<MediaItem>,
}

#[derive(Debug, Serialize)]
struct MediaItem {
    modality: &'static str,
    marker: &'static str,
    anchor: Option<&'static str>,
    anchor_id: Option<u32>,
}

/// Files that say something, and what.
const FILES: &[(&str, &str)] = &[
    ("config.json", "model type, media placeholders, stop ids"),
    ("generation_config.json", "stop ids"),
    ("tokenizer.json", "vocabulary, added tokens"),
    ("tiktoken.model", "vocabulary"),
    ("tekken.json", "vocabulary, special tokens"),
    ("tokenizer_config.json", "named tokens, added tokens"),
    ("special_tokens_map.json", "named tokens"),
    ("added_tokens.json", "added tokens"),
    ("preprocessor_config.json", "sizes of images"),
    ("video_preprocessor_config.json", "sizes of videos"),
];

impl<'m> Report<'m> {
    fn new(model: &'m Model, name: String) -> Self {
        let added = model.tokenizer().added_tokens().iter().map(|token| Added {
            id: token.id,
            content: &token.content,
            special: token.special,
        });
        Report {
            model: name,
            format: model.own_language_name(),
            model_type: model.model_type(),
            architectures: model.architectures(),
            files: files(model),
            templates: model.templates().iter().map(template).collect(),
            named_tokens: model
                .special_tokens()
                .iter()
                .map(|(name, token)| (name.as_str(), token.as_str()))
                .collect(),
            added_tokens: added.collect(),
            stop_ids: model.stop_ids(),
            media: media(model),
        }
    }

    fn print(&self, out: &mut impl Write) -> Result<()> {
        let mut line = |key: &str, value: String| writeln!(out, "{NOTE}{key:<14}{NOTE:#}  {}", visible(&value));
        line("model", self.model.clone())?;
        line(
            "format",
            self.format
                .unwrap_or("none: only the vocabulary can be used")
                .to_owned(),
        )?;
        line("model_type", self.model_type.unwrap_or("-").to_owned())?;
        if !self.architectures.is_empty() {
            line("architectures", self.architectures.join(", "))?;
        }
        for file in &self.files {
            line("file", format!("{:<30} {}", file.file, file.gives))?;
        }
        for template in &self.templates {
            line("template", format!("{} ({})", template.name, template.file))?;
            if let Some(error) = &template.error {
                line("  error", error.clone())?;
                continue;
            }
            for (key, names) in [
                ("  variables", &template.variables),
                ("  keys", &template.keys),
                ("  functions", &template.globals),
                ("  filters", &template.filters),
            ] {
                if !names.is_empty() {
                    let names: Vec<&str> = names.iter().map(String::as_str).collect();
                    line(key, names.join(", "))?;
                }
            }
            let content = if template.iterates_content {
                "text, or lists of parts"
            } else {
                "text"
            };
            line("  content", content.to_owned())?;
            if template.has_generation {
                line("  loss mask", "{% generation %} blocks".to_owned())?;
            }
        }
        for (name, token) in &self.named_tokens {
            line("named token", format!("{name} = {token:?}"))?;
        }
        let special = self.added_tokens.iter().filter(|token| token.special).count();
        line(
            "added tokens",
            format!("{}, of them {special} special", self.added_tokens.len()),
        )?;
        if let Some(media) = &self.media {
            for item in &media.items {
                let anchor = match (item.anchor, item.anchor_id) {
                    (Some(anchor), Some(id)) => format!("{anchor} = {id}"),
                    (Some(anchor), None) => format!("{anchor}, which the vocabulary lacks"),
                    (None, _) => "none: only its place tells it from text".to_owned(),
                };
                let text = format!(
                    "{} ({}): {:?}; anchor {anchor}",
                    item.modality, media.family, item.marker
                );
                line("placeholder", text)?;
            }
        }
        let content = |id: &u32| self.added_tokens.iter().find(|token| token.id == *id);
        let stops = self.stop_ids.iter().map(|id| match content(id) {
            Some(token) => format!("{id} {:?}", token.content),
            None => id.to_string(),
        });
        line("stop ids", stops.collect::<Vec<_>>().join(", "))?;
        self.print_control(out)
    }

    /// The control tokens, those that nobody is meant to use aside. Some vocabularies do not flag all of theirs.
    fn print_control(&self, out: &mut impl Write) -> Result<()> {
        let is_reserved = |content: &str| {
            let content = content.to_lowercase();
            ["reserved", "unused", "extra_id", "place_holder"]
                .iter()
                .any(|word| content.contains(word))
        };
        let is_control = |token: &&Added<'_>| token.special || token.content.starts_with("<|");
        let control = self.added_tokens.iter().filter(is_control);
        let (reserved, used): (Vec<_>, Vec<_>) = control.partition(|token| is_reserved(token.content));
        for token in used {
            writeln!(out, "{:>14}  {CONTROL}{}{CONTROL:#}", token.id, visible(token.content))?;
        }
        if !reserved.is_empty() {
            writeln!(out, "{NOTE}{:>14}  more that are reserved{NOTE:#}", reserved.len())?;
        }
        Ok(())
    }
}

/// The files that are there, and what each gave.
fn files(model: &Model) -> Vec<File> {
    let vocabulary = model.tokenizer().file();
    let config = model.files().read_optional("tokenizer_config.json").ok().flatten();
    let config: Option<serde_json::Value> = config.and_then(|config| serde_json::from_str(&config).ok());
    let declares_tokens = config.is_some_and(|config| !config["added_tokens_decoder"].is_null());
    let there = FILES.iter().filter(|(file, _)| model.files().has(file));
    let mut files: Vec<File> = there
        .map(|&(file, gives)| File {
            file: file.to_owned(),
            gives: match file {
                _ if gives.starts_with("vocabulary") && file != vocabulary => {
                    format!("nothing: the vocabulary is that of {vocabulary}")
                }
                "special_tokens_map.json" | "added_tokens.json" if declares_tokens => {
                    "nothing: tokenizer_config.json has added_tokens_decoder".to_owned()
                }
                _ => gives.to_owned(),
            },
        })
        .collect();
    for template in model.templates() {
        let gives = format!("chat template {}", template.name);
        match files.iter_mut().find(|known| known.file == template.file) {
            Some(known) => known.gives = format!("{}, {gives}", known.gives),
            None => files.push(File {
                file: template.file.clone(),
                gives,
            }),
        }
    }
    files
}

fn template(found: &NamedTemplate) -> Template<'_> {
    let named = Template {
        name: &found.name,
        file: &found.file,
        ..Template::default()
    };
    match ChatTemplate::compile(&found.source, Default::default()) {
        Ok(compiled) => {
            let meta = compiled.meta();
            Template {
                variables: meta.variables.clone(),
                keys: meta.keys.clone(),
                globals: meta.globals.clone(),
                filters: meta.filters.clone(),
                iterates_content: meta.iterates_content,
                has_generation: meta.has_generation,
                ..named
            }
        }
        Err(err) => Template {
            error: Some(err.to_string()),
            ..named
        },
    }
}

fn media(model: &Model) -> Option<Media> {
    let contract = media::contract(model.model_type()?)?;
    let items = contract.items.iter().map(|item| {
        let anchor = match item.anchor {
            Anchor::Token { spelling, .. } => Some(spelling),
            Anchor::Marker => None,
        };
        MediaItem {
            modality: item.modality.as_str(),
            marker: item.marker,
            anchor,
            anchor_id: anchor.and_then(|anchor| model.tokenizer().added_tokens().id(anchor)),
        }
    });
    Some(Media {
        family: contract.family,
        items: items.collect(),
    })
}
