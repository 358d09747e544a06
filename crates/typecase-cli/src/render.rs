//! `typecase render`.

use crate::args::{Output, Profile, Render};
use crate::clock;
use crate::exit::{ERROR, Outcome};
use crate::output::{Refused, Rendered};
use crate::view;
use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, IsTerminal, Read, Write};
use std::path::Path;
use typecase::format::kimi_k3::{self, KimiK3};
use typecase::request::{ParseOptions, Validation};
use typecase::tokenizer::EncodeOptions;
use typecase::value::Arena;
use typecase::{ChatRequest, Error, Fault, Format, Model, Prompt, Tokens};

pub(crate) fn run(args: &Render) -> Result<Outcome> {
    let output = match (args.output, args.jsonl) {
        (Some(Output::View), true) => bail!("--output view is of one request; with --jsonl use json, text or ids"),
        (Some(output), _) => output,
        (None, true) => Output::Json,
        (None, false) => Output::View,
    };
    let renderer = Renderer::new(args)?;
    let out = anstream::stdout();
    let mut out = BufWriter::new(out.lock());
    let outcome = if args.jsonl {
        renderer.lines(&args.request, output, &mut out)?
    } else {
        renderer.single(&args.request, output, &mut out)?
    };
    out.flush()?;
    Ok(outcome)
}

/// Renders requests for one model.
struct Renderer {
    model: Model,
    model_name: String,
    /// Instead of the model's own format.
    reference: Option<KimiK3>,
    parse_options: ParseOptions,
}

/// A request that was rendered.
struct Done<'a> {
    prompt: Prompt<'a>,
    tokens: Tokens,
    format: &'static str,
}

impl Renderer {
    fn new(args: &Render) -> Result<Self> {
        let (model, model_name) = match &args.model {
            Some(directory) => (Model::load(directory)?, directory.display().to_string()),
            None => {
                anstream::eprintln!(
                    "note: no --model given; using the demo model: Kimi K3's format with a small vocabulary, whose ids \
                     mean nothing to a real checkpoint"
                );
                (Model::demo()?, "demo".to_owned())
            }
        };
        let reference = match (args.profile, model.model_type()) {
            (Profile::Served, _) => None,
            (Profile::Reference, Some("kimi_k3")) => {
                let reference = kimi_k3::Reference::default();
                Some(KimiK3::new(kimi_k3::Profile::Reference(reference)))
            }
            (Profile::Reference, _) => bail!("the format of {model_name} has no profiles; --profile is for kimi_k3"),
        };
        let validation = match args.profile {
            Profile::Served => Validation::Strict,
            Profile::Reference => Validation::Shape,
        };
        Ok(Renderer {
            model,
            model_name,
            reference,
            parse_options: ParseOptions::default().validation(validation),
        })
    }

    fn render<'a>(&self, body: &'a mut [u8], arena: &'a Arena) -> typecase::Result<Done<'a>> {
        let request = ChatRequest::parse_with(body, arena, &self.parse_options)?;
        let format: &dyn Format = match &self.reference {
            Some(reference) => reference,
            None => self.model.format(&request)?,
        };
        let prompt = format.render(&request, &clock::render_options())?;
        let tokens = self
            .model
            .tokenizer()
            .encode_with(&prompt, EncodeOptions::new().ranges(true))?;
        Ok(Done {
            prompt,
            tokens,
            format: format.name(),
        })
    }

    fn single(&self, file: &Path, output: Output, out: &mut impl Write) -> Result<Outcome> {
        let mut body = Vec::new();
        let name = file.display().to_string();
        open(file)?.read_to_end(&mut body).with_context(|| name.clone())?;
        let arena = Arena::new();
        let done = match self.render(&mut body, &arena) {
            Ok(rendered) => rendered,
            Err(err) => {
                if output == Output::Json {
                    json_line(out, &Refused::new(&err))?;
                }
                return refused(err);
            }
        };
        for warning in done.prompt.warnings() {
            anstream::eprintln!("warning: {warning}");
        }
        match output {
            Output::View => view::print(out, &done.prompt, &done.tokens, done.format)?,
            Output::Text => out.write_all(done.prompt.text().as_bytes())?,
            Output::Json => json_line(out, &self.rendered(&done))?,
            Output::Ids => json_line(out, done.tokens.ids())?,
        }
        Ok(Outcome::Done)
    }

    fn rendered<'r>(&'r self, done: &'r Done<'_>) -> Rendered<'r> {
        Rendered::new(&done.prompt, &done.tokens, done.format, &self.model_name)
    }

    /// One result or error per line, in the order of the requests.
    fn lines(&self, file: &Path, output: Output, out: &mut impl Write) -> Result<Outcome> {
        let name = file.display().to_string();
        let progress = progress(file);
        let mut input = BufReader::new(open(file)?);
        let mut line = Vec::new();
        let mut arena = Arena::new();
        let (mut rendered, mut refused) = (0_u64, 0_u64);
        loop {
            line.clear();
            if input.read_until(b'\n', &mut line).with_context(|| name.clone())? == 0 {
                break;
            }
            progress.inc(line.len() as u64);
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            arena.reset();
            match self.render(&mut line, &arena) {
                Ok(done) => {
                    rendered += 1;
                    match output {
                        Output::Text => json_line(out, done.prompt.text())?,
                        Output::Ids => json_line(out, done.tokens.ids())?,
                        Output::Json | Output::View => json_line(out, &self.rendered(&done))?,
                    }
                }
                Err(err) if err.fault() == Fault::Server => return Err(err.into()),
                Err(err) => {
                    refused += 1;
                    json_line(out, &Refused::new(&err))?;
                }
            }
        }
        progress.finish_and_clear();
        if refused == 0 {
            return Ok(Outcome::Done);
        }
        anstream::eprintln!("{refused} of {} requests were refused", rendered + refused);
        Ok(Outcome::Refused)
    }
}

fn refused(err: Error) -> Result<Outcome> {
    if err.fault() == Fault::Server {
        return Err(err.into());
    }
    anstream::eprintln!("{ERROR}refused:{ERROR:#} {err}");
    Ok(Outcome::Refused)
}

fn json_line<T: Serialize + ?Sized>(out: &mut impl Write, value: &T) -> Result<()> {
    serde_json::to_writer(&mut *out, value).map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

/// Opens a file; `-` is standard input.
fn open(file: &Path) -> Result<Box<dyn Read>> {
    if file == Path::new("-") {
        return Ok(Box::new(io::stdin().lock()));
    }
    let opened = File::open(file).with_context(|| file.display().to_string())?;
    Ok(Box::new(opened))
}

/// A bar over the bytes of the file, on a terminal.
fn progress(file: &Path) -> ProgressBar {
    // Results that scroll by tell enough themselves.
    if !io::stderr().is_terminal() || io::stdout().is_terminal() {
        return ProgressBar::hidden();
    }
    let (len, template) = match file.metadata() {
        Ok(metadata) if metadata.is_file() => (
            Some(metadata.len()),
            "{bar:40} {bytes}/{total_bytes} {binary_bytes_per_sec} {eta}",
        ),
        _ => (None, "{spinner} {bytes} {binary_bytes_per_sec}"),
    };
    let bar = match len {
        Some(len) => ProgressBar::new(len),
        None => ProgressBar::new_spinner(),
    };
    // A template that does not parse is a bug of this file, and no reason not to render.
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
