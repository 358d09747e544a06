//! `typecase render`.

use crate::args::{Output, Render};
use crate::exit::{ERROR, Outcome};
use crate::input::{open, progress, read};
use crate::output::{Out, Refused, Rendered, json_line};
use crate::renderer::{Done, Renderer};
use crate::view;
use anyhow::{Context, Result, bail};
use std::io::{self, BufRead, BufReader, IsTerminal, Write};
use std::path::Path;
use typecase::value::Arena;
use typecase::{Error, Fault};

pub(crate) fn run(args: &Render) -> Result<Outcome> {
    let output = match (args.output, args.jsonl) {
        (Some(Output::View), true) => bail!("--output view is of one request; with --jsonl use json, text or ids"),
        (Some(output), _) => output,
        (None, true) => Output::Json,
        (None, false) => Output::View,
    };
    let renderer = match output {
        Output::Json => Renderer::new(&args.source)?.with_stub(),
        _ => Renderer::new(&args.source)?,
    };
    if output == Output::Ids {
        renderer.vocabulary()?;
    }
    let mut out = Out::new(output == Output::View);
    let outcome = if args.jsonl {
        lines(&renderer, &args.request, output, &mut out)?
    } else {
        single(&renderer, &args.request, output, &mut out)?
    };
    out.flush()?;
    Ok(outcome)
}

fn single(renderer: &Renderer, file: &Path, output: Output, out: &mut impl Write) -> Result<Outcome> {
    let mut body = read(file)?;
    let arena = Arena::new();
    let done = match renderer.render(&mut body, &arena) {
        Ok(done) => done,
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
        Output::View => view::print(out, &done, renderer)?,
        Output::Text => out.write_all(done.prompt.text().as_bytes())?,
        Output::Json => json_line(out, &Rendered::new(&done, renderer.model_name()))?,
        Output::Ids => json_line(out, ids(&done))?,
    }
    Ok(Outcome::Done)
}

fn ids<'d>(done: &'d Done<'_>) -> &'d [u32] {
    done.tokens.as_ref().map_or(&[], |tokens| tokens.ids())
}

/// One result or error per line, in the order of the requests.
fn lines(renderer: &Renderer, file: &Path, output: Output, out: &mut impl Write) -> Result<Outcome> {
    let name = file.display().to_string();
    let progress = progress(file, io::stdout().is_terminal());
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
        match renderer.render(&mut line, &arena) {
            Ok(done) => {
                rendered += 1;
                match output {
                    Output::Text => json_line(out, done.prompt.text())?,
                    Output::Ids => json_line(out, ids(&done))?,
                    Output::Json | Output::View => json_line(out, &Rendered::new(&done, renderer.model_name()))?,
                }
            }
            // Whoever's fault it is: the requests behind it are not to be lost.
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
    anstream::eprintln!(
        "{refused} of {} requests have no prompt; each has a line with its error",
        rendered + refused
    );
    Ok(Outcome::Refused)
}

/// Says on standard error why a request was refused; a fault that is not the request's is one of the run.
pub(crate) fn refused(err: Error) -> Result<Outcome> {
    if err.fault() == Fault::Server {
        return Err(err.into());
    }
    anstream::eprintln!("{ERROR}refused:{ERROR:#} {err}");
    Ok(Outcome::Refused)
}
