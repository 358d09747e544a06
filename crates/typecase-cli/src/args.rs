//! The flags.

use clap::{Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Chat requests to the exact prompt a model was trained on, as text and token ids.
#[derive(Debug, Parser)]
#[command(name = "typecase", version)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// When to use colours. `NO_COLOR` and `CLICOLOR` count for `auto`.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto)]
    pub(crate) color: Color,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Render a chat request: its prompt, segments, placeholders and token ids.
    Render(Render),
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal.
    Auto,
    /// Also into a pipe or file.
    Always,
    /// Not at all.
    Never,
}

impl Color {
    pub(crate) fn set(self) {
        match self {
            Color::Auto => anstream::ColorChoice::Auto,
            Color::Always => anstream::ColorChoice::Always,
            Color::Never => anstream::ColorChoice::Never,
        }
        .write_global();
    }
}

const RENDER_HELP: &str = "\
Examples:
  typecase render examples/kimi-k3-vision.json
  typecase render --model /models/Kimi-K3 --output ids request.json
  cat request.json | typecase render --output text -
  typecase render --jsonl --output json requests.jsonl > prompts.jsonl

JSON output, one object (with --jsonl: one per line, in the order of the requests):
  text         the prompt
  segments     [{text, special_tokens: \"all\" | \"none\" | \"trusted\", start, end}]: units of encoding, bytes of text
  token_ids    the ids
  media        [{modality, path, message, part, request_ordinal, placeholder: {start, end}, token}]: in the order of
               the prompt; `token` is the position of the placeholder among the ids
  stub         {start, end}: the opened assistant turn at the end, or null
  format       the prompt language
  model        the model directory, or \"demo\"
  warnings     [{path, code, message}]: what the format could not take as it is
A refused request gives {error: {message, type, param, code}} instead. Fields may be added, never removed.

Exit status: 0 all done, 1 some request was refused, 2 could not run.";

#[derive(Debug, clap::Args)]
#[command(after_help = RENDER_HELP)]
pub(crate) struct Render {
    /// The request, as for POST /v1/chat/completions; `-` is standard input.
    #[arg(default_value = "-", value_name = "REQUEST.json")]
    pub(crate) request: PathBuf,
    /// A model directory. Without it the embedded demo model is used: Kimi K3's format, a small vocabulary of its own.
    #[arg(long, value_name = "DIR")]
    pub(crate) model: Option<PathBuf>,
    /// Whose rules hold where implementations of the format part ways.
    #[arg(long, value_enum, default_value_t = Profile::Served)]
    pub(crate) profile: Profile,
    /// What to print. Default: `view`, with --jsonl `json`.
    #[arg(long, short, value_enum)]
    pub(crate) output: Option<Output>,
    /// The input is one request per line; the output one result or error per line.
    #[arg(long)]
    pub(crate) jsonl: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Profile {
    /// Those of the serving stacks.
    Served,
    /// Those of the model's own encoder, to the letter.
    Reference,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// The prompt with its segments in colour, the media, the ids.
    View,
    /// The prompt alone, byte for byte. With --jsonl a JSON string.
    Text,
    /// Everything, as JSON.
    Json,
    /// The token ids as a JSON array.
    Ids,
}
