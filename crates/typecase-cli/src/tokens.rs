//! `typecase tokens`.

use crate::args::{Count, Decode, Encode, Explained, Input, Source, Tokens};
use crate::exit::Outcome;
use crate::input::read;
use crate::output::{Out, json_line, writer_name};
use crate::render::refused;
use crate::renderer::{self, Renderer};
use crate::view::{CONTROL, FORMAT, NOTE, REQUEST};
use anyhow::{Context, Result, anyhow, bail};
use serde::Serialize;
use std::io::Write;
use typecase::prompt::{Prompt, PromptBuilder, Writer};
use typecase::tokenizer::{EncodeOptions, TokenOrigins, Trust};
use typecase::value::{Arena, Origin, Text, Value};
use typecase::{Model, Tokenizer};

pub(crate) fn run(args: &Tokens) -> Result<Outcome> {
    let is_view = matches!(args, Tokens::Encode(args) if args.explain && args.output == Explained::View);
    let mut out = Out::new(is_view);
    let outcome = match args {
        Tokens::Encode(args) => encode(args, &mut out)?,
        Tokens::Decode(args) => decode(args, &mut out)?,
        Tokens::Count(args) => count(args, &mut out)?,
    };
    out.flush()?;
    Ok(outcome)
}

/// What is done with the prompt of an input.
type Use<'u> = dyn FnMut(&Prompt<'_>, &Model, Trust) -> Result<()> + 'u;

/// Hands the prompt of `input` to `then`.
fn with_prompt(input: &Input, source: &Source, then: &mut Use<'_>) -> Result<Outcome> {
    let mut body = read(&input.file)?;
    let arena = Arena::new();
    if input.text {
        let text = std::str::from_utf8(&body).map_err(|err| {
            let at = err.valid_up_to();
            anyhow!("{} is no text: the byte at {at} is not UTF-8", input.file.display())
        })?;
        let (model, _) = renderer::open(source.model.as_deref())?;
        let mut builder = PromptBuilder::new(Value::None(Origin::COMPUTED), &arena, text.len());
        if input.no_special {
            builder.text(Text::new(text));
        } else {
            // Whoever runs the command says what the text is, as whoever configures a model.
            builder.configured_control(text);
        }
        then(&builder.finish(), &model, Trust::default())?;
        return Ok(Outcome::Done);
    }
    let renderer = Renderer::new(source)?;
    let model = renderer.vocabulary()?;
    match renderer.prompt(&mut body, &arena) {
        Ok((prompt, _)) => then(&prompt, model, renderer.trust())?,
        Err(err) => return refused(err),
    }
    Ok(Outcome::Done)
}

fn encode(args: &Encode, out: &mut impl Write) -> Result<Outcome> {
    with_prompt(&args.input, &args.source, &mut |prompt, model, trust| {
        let tokenizer = model.tokenizer();
        if !args.explain {
            let tokens = tokenizer.encode_with(prompt, EncodeOptions::new().trust(trust))?;
            return json_line(out, tokens.ids());
        }
        let origins = model.explain(prompt, trust)?;
        match args.output {
            Explained::Json => json_line(out, &explained(prompt, &origins, tokenizer)),
            Explained::View => table(out, prompt, &origins, tokenizer),
        }
    })
}

fn count(args: &Count, out: &mut impl Write) -> Result<Outcome> {
    with_prompt(&args.input, &args.source, &mut |prompt, model, trust| {
        let count = model.tokenizer().count(prompt, trust)?;
        Ok(writeln!(out, "{count}")?)
    })
}

fn decode(args: &Decode, out: &mut impl Write) -> Result<Outcome> {
    let input = read(&args.file)?;
    let ids = parse_ids(&input).with_context(|| args.file.display().to_string())?;
    let (model, _) = renderer::open(args.model.as_deref())?;
    let tokenizer = model.tokenizer();
    let text = if args.skip_special {
        tokenizer.decode_without_special(&ids)
    } else {
        tokenizer.decode(&ids)
    };
    match text {
        Ok(text) => out.write_all(text.as_bytes())?,
        Err(err) => return refused(err),
    }
    let unknown: Vec<u32> = ids.into_iter().filter(|id| !tokenizer.has_id(*id)).collect();
    if let Some(first) = unknown.first() {
        anstream::eprintln!(
            "warning: {} of the ids are of no token and were left out, the first {first}",
            unknown.len()
        );
    }
    Ok(Outcome::Done)
}

/// Reads ids: a JSON array, or numbers with white space or commas between.
fn parse_ids(input: &[u8]) -> Result<Vec<u32>> {
    let text = std::str::from_utf8(input)?;
    let text = text.trim_matches(|c: char| c.is_ascii_whitespace());
    let inner = match text.strip_prefix('[') {
        None => text,
        Some(rest) => match rest.strip_suffix(']') {
            Some(inner) => inner,
            None => bail!("the array of ids does not end"),
        },
    };
    let mut ids = Vec::new();
    for part in inner.split(',') {
        let before = ids.len();
        for id in part.split_ascii_whitespace() {
            ids.push(id.parse().with_context(|| format!("no token id: {id:?}"))?);
        }
        if ids.len() == before && inner.contains(',') {
            bail!("a comma without a token id before or after it");
        }
    }
    Ok(ids)
}

/// One token, as JSON.
#[derive(Debug, Serialize)]
struct Token<'t> {
    id: u32,
    start: usize,
    end: usize,
    text: String,
    special: bool,
    writer: &'static str,
    path: Option<String>,
    message: Option<usize>,
    role: Option<&'t str>,
    content: bool,
    generated: bool,
}

fn explained<'t>(prompt: &Prompt<'_>, origins: &'t TokenOrigins, tokenizer: &Tokenizer) -> Vec<Token<'t>> {
    let tokens = origins.ids().iter().zip(origins.tokens()).map(|(&id, token)| Token {
        id,
        start: token.range.start,
        end: token.range.end,
        text: String::from_utf8_lossy(&prompt.text().as_bytes()[token.range.clone()]).into_owned(),
        special: tokenizer.added_tokens().by_id(id).is_some(),
        writer: writer_name(token.writer),
        path: origins
            .field(token)
            .filter(|path| !path.is_root())
            .map(ToString::to_string),
        message: token.message,
        role: token.message.and_then(|message| origins.role(message)),
        content: token.is_content,
        generated: token.is_generated,
    });
    tokens.collect()
}

fn table(out: &mut impl Write, prompt: &Prompt<'_>, origins: &TokenOrigins, tokenizer: &Tokenizer) -> Result<()> {
    writeln!(
        out,
        "{NOTE}{:>6} {:>7} {:>13}  {:8} {:4} {:8} {:11} {:24}  token{NOTE:#}",
        "#", "id", "bytes", "writer", "mask", "part", "role", "field"
    )?;
    let tokens = explained(prompt, origins, tokenizer);
    let masked = tokens.iter().filter(|token| token.generated).count();
    for (n, (token, origin)) in tokens.iter().zip(origins.tokens()).enumerate() {
        let style = match origin.writer {
            _ if token.special => CONTROL,
            Writer::Request(_) => REQUEST,
            Writer::Format | Writer::Config => FORMAT,
        };
        let bytes = format!("{}..{}", token.start, token.end);
        let role = match (token.message, token.role) {
            (Some(message), role) => format!("{message} {}", role.unwrap_or_default()),
            (None, _) => "-".to_owned(),
        };
        let part = if token.content { "content" } else { "scaffold" };
        writeln!(
            out,
            "{NOTE}{n:>6}{NOTE:#} {:>7} {bytes:>13}  {:8} {:4} {part:8} {:11} {:24}  {style}{:?}{style:#}",
            token.id,
            token.writer,
            if token.generated { "1" } else { "." },
            visible(&role),
            visible(token.path.as_deref().unwrap_or("-")),
            token.text,
        )?;
    }
    Ok(writeln!(
        out,
        "{NOTE}{} tokens, {masked} of them in the loss mask{NOTE:#}",
        tokens.len()
    )?)
}

/// Roles and keys are text of strangers.
fn visible(text: &str) -> String {
    crate::view::visible(text).replace(['\n', '\t'], " ")
}

#[cfg(test)]
mod tests {
    use super::parse_ids;

    #[test]
    fn ids_as_json_and_as_numbers() {
        for text in ["[1, 2,3]", "1 2 3", "1,2\n3\n", " [1 2 3] "] {
            assert_eq!(parse_ids(text.as_bytes()).expect("ids"), [1, 2, 3], "{text:?}");
        }
        assert!(parse_ids(b"").expect("none").is_empty());
        for text in ["[1", "1 -2", "1.5", "x", "4294967296", "1,,2", "[1,]", ",1"] {
            assert!(parse_ids(text.as_bytes()).is_err(), "{text:?}");
        }
    }
}
