//! Chat templates, against what transformers rendered: every template with every conversation, in exact mode.
//!
//! Compared are the text, the `{% generation %}` spans, the kind of an error, and the message of `raise_exception`.

mod golden;
mod output;

pub(crate) use golden::spans;

use crate::exact::{self, Found};
use crate::pool;
use crate::report::{Outcome, Report};
use anyhow::{Context, Result, bail};
use golden::{Expected, Golden};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use typecase::format::chat_template::TokenNames;
use typecase::format::{ChatTemplate, RenderOptions};
use typecase::value::{Arena, Origin, Value, json};

/// What to render, and what to compare it with.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Directory of templates, `*.jinja`.
    #[arg(long)]
    templates: PathBuf,
    /// Conversations, one JSON object per line.
    #[arg(long)]
    conversations: PathBuf,
    /// What the oracle gave, `.jsonl` or `.jsonl.gz`.
    #[arg(long)]
    goldens: PathBuf,
    /// Where to write our results, in the oracle's shape.
    #[arg(long)]
    out: Option<PathBuf>,
    /// The instant that `strftime_now` sees, local, ISO 8601. Default: that of the goldens.
    #[arg(long)]
    now: Option<String>,
    /// Only templates whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
    /// How many differences to show.
    #[arg(long, default_value_t = 10)]
    show: usize,
}

/// A template or a conversation, and its name.
#[derive(Debug)]
struct Named {
    name: String,
    text: String,
}

/// What came of one template and one conversation.
#[derive(Debug)]
struct Pair {
    id: String,
    kind: &'static str,
    outcome: Outcome,
    /// What the difference is put down to, where there is one.
    group: Option<String>,
    line: Option<String>,
}

/// Renders and compares. Whether nothing differs.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let golden = Golden::read(&args.goldens)?;
    let now = args.now.as_deref().or(golden.now.as_deref());
    let options = crate::clock::options_at(now)?;
    let token_names: TokenNames = golden
        .special_tokens
        .iter()
        .map(|(name, token)| (name, token))
        .collect();
    let mut templates = read_templates(&args.templates)?;
    templates.retain(|template| template.name.contains(&args.only));
    let conversations = read_conversations(&args.conversations)?;

    let pairs = pool::map(
        templates.len(),
        || (),
        |(), index| {
            let job = Job {
                template: &templates[index],
                golden: &golden,
                token_names: &token_names,
                options: &options,
                keep_lines: args.out.is_some(),
            };
            job.run(&conversations)
        },
    );
    let mut report = Report::default();
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    let mut groups: BTreeMap<String, usize> = BTreeMap::new();
    let mut lines = Vec::new();
    let mut compared = 0;
    for pair in pairs.into_iter().flatten() {
        *kinds.entry(pair.kind).or_default() += 1;
        if let Some(group) = pair.group {
            *groups.entry(group).or_default() += 1;
        }
        lines.extend(pair.line);
        report.add(&pair.id, pair.outcome);
        compared += 1;
    }
    if compared == 0 {
        bail!("no template, or no conversation");
    }
    if let Some(path) = &args.out {
        let meta = meta(&golden, now, templates.len(), conversations.len());
        output::write(path, std::iter::once(meta).chain(lines)).with_context(|| path.display().to_string())?;
    }
    let mut out = io::stdout().lock();
    let kinds: Vec<String> = kinds.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
    writeln!(
        out,
        "templates: {} x {} conversations; found {}",
        templates.len(),
        conversations.len(),
        kinds.join(", ")
    )?;
    report.print("templates", args.show)?;
    print_groups(&mut out, groups, args.show)?;
    if args.only.is_empty() && golden.len() > compared {
        writeln!(
            out,
            "  {} results of the goldens were not rendered here",
            golden.len() - compared
        )?;
    }
    Ok(report.agrees())
}

/// Differences by what they are put down to, the most frequent first.
fn print_groups(out: &mut impl Write, groups: BTreeMap<String, usize>, show: usize) -> io::Result<()> {
    let mut groups: Vec<(String, usize)> = groups.into_iter().collect();
    groups.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    for (group, count) in groups.iter().take(show) {
        writeln!(out, "  {count:6} x {group}")?;
    }
    Ok(())
}

/// All conversations of one template.
struct Job<'a> {
    template: &'a Named,
    golden: &'a Golden,
    token_names: &'a TokenNames,
    options: &'a RenderOptions,
    keep_lines: bool,
}

impl Job<'_> {
    fn run(&self, conversations: &[Named]) -> Vec<Pair> {
        let compiled = ChatTemplate::compile(&self.template.text, self.token_names.clone());
        let one = |conversation: &Named| {
            let expected = self.golden.find(&self.template.name, &conversation.name);
            let found = render(&compiled, &conversation.text, self.options);
            let (outcome, group) = compare(expected, &found);
            Pair {
                id: format!("{} / {}", self.template.name, conversation.name),
                kind: match &found {
                    Found::Text { .. } => "rendered",
                    Found::Refused(refusal) => refusal.kind,
                },
                outcome,
                group,
                line: self
                    .keep_lines
                    .then(|| output::line(&self.template.name, &conversation.name, &found)),
            }
        };
        conversations.iter().map(one).collect()
    }
}

fn render(template: &typecase::Result<ChatTemplate>, conversation: &str, options: &RenderOptions) -> Found {
    let arena = Arena::new();
    let bytes = conversation.len();
    // Every line was parsed when the file was read.
    let conversation = json::parse_str(conversation, &arena).unwrap_or(Value::None(Origin::COMPUTED));
    match template {
        Ok(template) => exact::render(template, conversation, bytes, options),
        // Some requests are refused before the template is looked at.
        Err(err) => match exact::arguments(conversation).check() {
            Ok(()) => Found::Refused(exact::refusal(err)),
            Err(err) => Found::Refused(exact::refusal(&err)),
        },
    }
}

fn compare(expected: Option<&Expected>, found: &Found) -> (Outcome, Option<String>) {
    match (expected, found) {
        (None, _) => (Outcome::Skipped("which the goldens have not".to_owned()), None),
        (Some(Expected::Text { address: true, .. }), Found::Text { .. }) => (
            Outcome::Skipped("which print the address of an object".to_owned()),
            None,
        ),
        (
            Some(Expected::Text { text, spans, .. }),
            Found::Text {
                text: ours,
                spans: our_spans,
            },
        ) => {
            if text != ours {
                return (
                    Outcome::Different(difference(text, ours)),
                    Some("another text".to_owned()),
                );
            }
            match spans {
                Some(spans) if spans != our_spans => {
                    let how = format!("expected spans {spans:?}\nfound spans    {our_spans:?}");
                    (Outcome::Different(how), Some("other spans".to_owned()))
                }
                // The oracle leaves spans out where it has not asked for them.
                _ => (Outcome::Equal, None),
            }
        }
        (Some(Expected::Error { kind, message }), Found::Refused(ours)) => {
            let same_message = kind != "raise_exception" || *message == ours.message;
            match kind == ours.kind && same_message {
                true => (Outcome::BothRefuse, None),
                false => (
                    Outcome::Different(format!(
                        "expected {kind}: {message}\nfound    {}: {}",
                        ours.kind, ours.shown
                    )),
                    Some(format!("expected {kind}, found {}: {}", ours.kind, ours.message)),
                ),
            }
        }
        (Some(Expected::Text { .. }), Found::Refused(ours)) => (
            Outcome::Different(format!("expected a text\nfound {}: {}", ours.kind, ours.shown)),
            Some(format!("found {}: {}", ours.kind, ours.message)),
        ),
        (Some(Expected::Error { kind, message }), Found::Text { text, .. }) => (
            Outcome::Different(format!("expected {kind}: {message}\nfound {:?}", shortened(text))),
            Some(format!("expected {kind}, rendered: {message}")),
        ),
    }
}

/// Characters that a difference shows before and after where it begins.
const BEFORE: usize = 60;
const AFTER: usize = 100;

/// Where two texts begin to differ.
pub(crate) fn difference(expected: &str, found: &str) -> String {
    let same = expected
        .char_indices()
        .zip(found.chars())
        .find(|((_, a), b)| a != b)
        .map_or_else(|| expected.len().min(found.len()), |((at, _), _)| at);
    let excerpt = |text: &str| {
        let start = text[..same].char_indices().rev().nth(BEFORE).map_or(0, |(at, _)| at);
        let end = text[same..]
            .char_indices()
            .nth(AFTER)
            .map_or(text.len(), |(at, _)| same + at);
        text[start..end].to_owned()
    };
    format!(
        "from byte {same} on\nexpected {:?}\nfound    {:?}",
        excerpt(expected),
        excerpt(found)
    )
}

fn shortened(text: &str) -> String {
    text.chars().take(BEFORE + AFTER).collect()
}

/// The templates of a directory, in the order of their names.
fn read_templates(directory: &Path) -> Result<Vec<Named>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory).with_context(|| directory.display().to_string())? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "jinja") {
            paths.push(path);
        }
    }
    paths.sort_unstable_by(|a, b| a.file_name().cmp(&b.file_name()));
    let read = |path: PathBuf| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        Ok(Named { name, text })
    };
    paths.into_iter().map(read).collect()
}

/// The lines of a conversations file.
fn read_conversations(path: &Path) -> Result<Vec<Named>> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let mut conversations = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
        let arena = Arena::new();
        let value = match json::parse_str(line, &arena) {
            Ok(value) => value,
            Err(err) => bail!("{}, line {}: {err}", path.display(), number + 1),
        };
        let id = value.lookup("id").and_then(|id| id.as_str());
        let id = id.with_context(|| format!("{}, line {}: no `id`", path.display(), number + 1))?;
        conversations.push(Named {
            name: id.to_owned(),
            text: line.to_owned(),
        });
    }
    Ok(conversations)
}

fn meta(golden: &Golden, now: Option<&str>, templates: usize, conversations: usize) -> String {
    let mut out = format!(
        "{{\"meta\": {{\"typecase\": \"{}\", \"now\": ",
        env!("CARGO_PKG_VERSION")
    );
    json::write_str(&mut out, now.unwrap_or_default(), false);
    out.push_str(", \"special_tokens\": {");
    for (i, (name, token)) in golden.special_tokens.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        json::write_str(&mut out, name, false);
        out.push_str(": ");
        json::write_str(&mut out, token, false);
    }
    out.push_str(&format!(
        "}}, \"templates\": {templates}, \"conversations\": {conversations}}}}}"
    ));
    out
}

#[cfg(test)]
mod tests {
    use super::{Args, run};
    use std::path::Path;

    /// Our own templates and conversations, whose results `oracle/templates.py` recorded.
    #[test]
    fn own_templates_and_conversations_render_as_in_python() -> anyhow::Result<()> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let args = Args {
            templates: here.join("templates"),
            conversations: here.join("conversations.jsonl"),
            goldens: here.join("golden/templates.jsonl"),
            out: None,
            now: None,
            only: String::new(),
            show: 10,
        };
        assert!(run(&args)?, "see the differences above");
        Ok(())
    }
}
