//! The flags.

use crate::clock;
use clap::{Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use typecase::format::LocalTime;

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
    /// Turn requests or text into token ids, ids into text, and say where each token came from.
    #[command(subcommand)]
    Tokens(Tokens),
    /// Say what a model holds: format, templates, control tokens, placeholders, and which file gave what.
    Inspect(Inspect),
    /// Render a data set: one request per line in, one row per request out.
    Batch(Batch),
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

/// What requests are rendered with.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Source {
    /// A model directory, a GGUF file, or a Hugging Face hub id: `organization/name` or `organization/name@revision`.
    /// Without it, and without --template, the embedded demo model is used: Kimi K3's format, a small vocabulary of its
    /// own.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<PathBuf>,
    /// A chat template: instead of the model's own, or without any model, and then without ids.
    #[arg(long, value_name = "FILE.jinja")]
    pub(crate) template: Option<PathBuf>,
    /// The one of the model's named templates to use, whether the request has tools or not.
    #[arg(long, value_name = "NAME", conflicts_with = "template", requires = "model")]
    pub(crate) template_name: Option<String>,
    /// The prompt language, instead of the one picked for the model.
    #[arg(long, value_enum)]
    pub(crate) format: Option<FormatName>,
    /// A token that templates know by name: `bos_token=<s>`. Comes before the model's; may be repeated.
    #[arg(long, value_name = "NAME=TOKEN", value_parser = named_token)]
    pub(crate) special: Vec<(String, String)>,
    /// The local time that templates see: `2026-03-14T15:09:26` or `2026-03-14`. Default: now.
    #[arg(long, value_name = "ISO", value_parser = clock::parse)]
    pub(crate) now: Option<LocalTime>,
    /// Whose rules hold where implementations of the format part ways.
    #[arg(long, value_enum, default_value_t = Profile::Served)]
    pub(crate) profile: Profile,
    /// Let a request bring its own template, as its field `chat_template`. Otherwise such a request is refused.
    #[arg(long)]
    pub(crate) allow_template: bool,
    /// Whether text of the request may become control tokens.
    #[arg(long, value_enum, default_value_t = Trust::Strict)]
    pub(crate) trust: Trust,
}

fn named_token(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, token)) if !name.is_empty() => Ok((name.to_owned(), token.to_owned())),
        _ => Err("expected NAME=TOKEN, such as bos_token=<s>".to_owned()),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum FormatName {
    /// Kimi K3's own.
    KimiK3,
    /// The chat template.
    ChatTemplate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Profile {
    /// Those of the serving stacks.
    Served,
    /// Those of the model's own encoder, or of transformers, to the letter.
    Reference,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Trust {
    /// Never.
    Strict,
    /// Where a template printed it, as a plain `encode` of the rendered text has it.
    Compat,
}

const RENDER_HELP: &str = "\
Examples:
  typecase render examples/kimi-k3-vision.json
  typecase render --model /models/Kimi-K3 --output ids request.json
  typecase render --template chat_template.jinja --special bos_token='<s>' --now 2026-03-14 request.json
  typecase render --model /models/Command-R --template-name rag request.json
  cat request.json | typecase render --output text -
  typecase render --jsonl --output json requests.jsonl > prompts.jsonl

As in the APIs of engines, a prompt ends with an opened assistant turn unless the request says
\"add_generation_prompt\": false or \"continue_final_message\": true.

JSON output, one object (with --jsonl: one per line, in the order of the requests):
  text         the prompt
  segments     [{text, special_tokens: \"all\" | \"none\" | \"trusted\", start, end}]: units of encoding, bytes of text
  token_ids    the ids; null without a model
  media        [{modality, path, message, part, request_ordinal, placeholder: {start, end}, token}]: in the order of
               the prompt; `token` is the position of the placeholder among the ids
  stub         {start, end}: the opened assistant turn at the end, or null; of a template, what its prompt has more than one
               with \"add_generation_prompt\": false
  format       the prompt language
  model        the model as it was given, or \"demo\"; null without a model
  warnings     [{path, code, message}]: what the format could not take as it is
  provenance   [{start, end, writer: \"format\" | \"config\" | \"request\", path}]: who wrote which bytes of text; `path` is the
               field of the request, else null
  generation   [{start, end}]: the {% generation %} blocks of a template
A request without a prompt gives {error: {message, type, param, code}} instead; with --jsonl the others go on, whoever's
fault it is. Fields may be added, never removed.

Exit status: 0 all done, 1 some request was refused (with --jsonl: has an error in its line), 2 could not run.";

#[derive(Debug, clap::Args)]
#[command(after_help = RENDER_HELP)]
pub(crate) struct Render {
    /// The request, as for POST /v1/chat/completions; `-` is standard input.
    #[arg(default_value = "-", value_name = "REQUEST.json")]
    pub(crate) request: PathBuf,
    #[command(flatten)]
    pub(crate) source: Source,
    /// What to print. Default: `view`, with --jsonl `json`.
    #[arg(long, short, value_enum)]
    pub(crate) output: Option<Output>,
    /// The input is one request per line; the output one result or error per line.
    #[arg(long)]
    pub(crate) jsonl: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// The prompt in colour by who wrote it, the media, the ids.
    View,
    /// The prompt alone, byte for byte. With --jsonl a JSON string.
    Text,
    /// Everything, as JSON.
    Json,
    /// The token ids as a JSON array.
    Ids,
}

const TOKENS_HELP: &str = "\
Examples:
  typecase tokens encode --model /models/Qwen3-8B request.json
  typecase tokens encode --model /models/Qwen3-8B --explain request.json
  echo -n 'Hello <|im_end|>' | typecase tokens encode --model /models/Qwen3-8B --text
  typecase tokens count --model /models/Qwen3-8B request.json
  echo '[9707, 11, 1879]' | typecase tokens decode --model /models/Qwen3-8B

With --explain --output json, one array:
  [{id, start, end, text, special, writer: \"format\" | \"config\" | \"request\", path, message, role, content, generated}]
  start, end   bytes of the prompt; text, what they are (U+FFFD where they are no whole characters)
  special      whether it is an added token
  path         the field of the request that it was read from
  message      the message that it belongs to, and role, that message's
  content      whether it is content of a message, not scaffolding
  generated    whether it is in the loss mask: what the assistant wrote, and the token that ends its turn

Exit status: 0 done, 1 the request was refused, 2 could not run.";

#[derive(Debug, Subcommand)]
pub(crate) enum Tokens {
    /// Token ids of a request, or of text.
    Encode(Encode),
    /// Text of token ids.
    Decode(Decode),
    /// The number of tokens of a request, or of text.
    Count(Count),
}

/// What is to be encoded.
#[derive(Debug, clap::Args)]
pub(crate) struct Input {
    /// A request, with --text plain text; `-` is standard input.
    #[arg(default_value = "-", value_name = "INPUT")]
    pub(crate) file: PathBuf,
    /// The input is plain text, which is encoded as it is.
    #[arg(long)]
    pub(crate) text: bool,
    /// With --text: spellings of control tokens stay ordinary text.
    #[arg(long, requires = "text")]
    pub(crate) no_special: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = TOKENS_HELP)]
pub(crate) struct Encode {
    #[command(flatten)]
    pub(crate) input: Input,
    #[command(flatten)]
    pub(crate) source: Source,
    /// Show each token with its bytes, who wrote it, its message, role and loss mask.
    #[arg(long)]
    pub(crate) explain: bool,
    /// With --explain: a table or JSON.
    #[arg(long, short, value_enum, default_value_t = Explained::View, requires = "explain")]
    pub(crate) output: Explained,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Explained {
    /// A table.
    View,
    /// A JSON array.
    Json,
}

#[derive(Debug, clap::Args)]
#[command(after_help = TOKENS_HELP)]
pub(crate) struct Decode {
    /// The ids, a JSON array or numbers with white space or commas between; `-` is standard input.
    #[arg(default_value = "-", value_name = "IDS")]
    pub(crate) file: PathBuf,
    /// A model directory, a GGUF file, or a Hugging Face hub id. Without it the embedded demo model is used.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<PathBuf>,
    /// Leave special tokens out.
    #[arg(long)]
    pub(crate) skip_special: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = TOKENS_HELP)]
pub(crate) struct Count {
    #[command(flatten)]
    pub(crate) input: Input,
    #[command(flatten)]
    pub(crate) source: Source,
}

const INSPECT_HELP: &str = "\
Examples:
  typecase inspect /models/Qwen3-8B
  typecase inspect --output json /models/Kimi-K3 | jq .templates

JSON output, one object: {model, format, model_type, architectures, files: [{file, gives}], templates: [{name, file,
variables, keys, globals, filters, iterates_content, has_generation, error}], named_tokens: {name: token}, added_tokens:
[{id, content, special}], stop_ids, media: {family, items: [{modality, marker, anchor, anchor_id}]} or null}.
Fields may be added, never removed.";

#[derive(Debug, clap::Args)]
#[command(after_help = INSPECT_HELP)]
pub(crate) struct Inspect {
    /// A model directory, a GGUF file, or a Hugging Face hub id. Without it the embedded demo model.
    #[arg(value_name = "MODEL")]
    pub(crate) model: Option<PathBuf>,
    /// A report or JSON.
    #[arg(long, short, value_enum, default_value_t = Explained::View)]
    pub(crate) output: Explained,
}

const BATCH_HELP: &str = "\
Examples:
  typecase batch --model /models/Qwen3-8B in.jsonl out.jsonl
  typecase batch --model /models/Qwen3-8B --fields ids,mask --resume in.jsonl out.jsonl
  typecase batch --model Qwen/Qwen3-8B --fields ids,labels train.parquet tokens.parquet
  typecase batch --template chat_template.jinja --fields text in.jsonl out.jsonl

Every line of the input is a request; empty lines are passed over. With the name *.parquet every row is one: its columns
messages, tools, tool_choice, documents, chat_template_kwargs, ... are the fields of the request, other columns are passed
over. A column of strings holds JSON (messages, tools, documents, ...), or Arrow holds the value itself: lists are arrays,
structs and maps objects. A null in a struct or a cell is a field that is not there, since whoever wrote the file had to
give all rows the same fields; nulls in lists, maps and JSON strings stay.

Every request gives one row, in the order of the input, as JSON or, with the name *.parquet, in columns (ids: list of
uint32, mask: list of uint8, labels: list of int64, messages: list of int32):
  row              its number, counted from 0
  text             the prompt
  ids              the token ids
  count            the number of ids
  mask             for each id 1 if the assistant wrote it or it ends its turn, else 0
  labels           the ids where the mask is 1, else -100
  messages         for each id the message it belongs to, or -1
A request that is refused gives {row, error: {message, type, param, code}} and the run goes on. `row` is always there,
in Parquet `error` too (null where there is none); the others are those of --fields. Fields may be added, never removed.

Memory does not grow with the input. A run that was killed is taken up with --resume, which ends in the same output: rows
that are whole are kept, and the requests that they came from read again, but not rendered. OUT.manifest.json says what a
run was made with: if flags, model, template or input are others than at its beginning, --resume refuses. It is written
every two seconds, after the rows that it speaks of are safely on the disk: a power cut costs what came after. A Parquet
output is kept as OUT.parts/ until it is complete. The time that templates see is that of the first start unless --now pins
it. When requests were appended to the input of a run that is done, --resume goes on with them, and needs the manifest.
Input from a pipe has to be piped in again from its beginning.

Exit status: 0 all done, 1 some request was refused, 2 could not run.";

#[derive(Debug, clap::Args)]
#[command(after_help = BATCH_HELP)]
pub(crate) struct Batch {
    /// One request per line, or in *.parquet per row; `-` is JSONL from standard input.
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,
    /// Where the rows go, as JSONL or to *.parquet; it must not be there yet, unless --resume or --overwrite is given. `-` is
    /// JSONL to standard output.
    #[arg(value_name = "OUT")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) source: Source,
    /// What rows hold.
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["text", "ids"])]
    pub(crate) fields: Vec<Field>,
    /// Keep the whole rows that the output has, and go on after them.
    #[arg(long, conflicts_with = "overwrite")]
    pub(crate) resume: bool,
    /// Begin anew, whatever the output has.
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Threads that render. Default: one per core.
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<std::num::NonZero<usize>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Field {
    /// The prompt.
    Text,
    /// The token ids.
    Ids,
    /// The number of ids.
    Count,
    /// The loss mask.
    Mask,
    /// The ids to learn.
    Labels,
    /// The message of each id.
    Messages,
}
