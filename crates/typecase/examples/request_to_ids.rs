//! Times a request from its JSON to its ids: cold, turn by turn with the cache, and `strict` against `compat`.
//!
//! ```text
//! cargo run --release --example request_to_ids -- MODEL_DIRECTORY TEMPLATE REQUEST.json...
//! ```
//! The last lines are about the conversation of the last file, of which each prefix that ends with a user's message is
//! sent as it comes.

use std::time::{Duration, Instant};
use typecase::format::{ChatTemplate, Format, RenderOptions};
use typecase::request::ParseOptions;
use typecase::tokenizer::{EncodeOptions, Trust};
use typecase::value::Arena;
use typecase::{ChatRequest, Tokenizer};

type Failure = Box<dyn std::error::Error>;

/// Runs of which the fastest counts: other work of the machine only adds to a time.
const RUNS: usize = 40;

/// What a server's thread keeps from request to request.
#[derive(Default)]
struct Kept {
    arena: Arena,
    buffer: Vec<u8>,
}

impl Kept {
    /// The number of ids, and the time to parse and to render.
    fn ids(
        &mut self,
        template: &ChatTemplate,
        tokenizer: &Tokenizer,
        json: &str,
        trust: Trust,
    ) -> Result<Timed, Failure> {
        self.arena.reset();
        let start = Instant::now();
        let options = ParseOptions::default();
        let request = ChatRequest::parse_into(json.as_bytes(), &mut self.buffer, &self.arena, &options)?;
        let parsed = start.elapsed();
        let prompt = template.render(&request, &RenderOptions::default())?;
        let rendered = start.elapsed();
        let tokens = tokenizer.encode_with(&prompt, EncodeOptions::new().trust(trust))?;
        let all = start.elapsed();
        Ok(Timed {
            ids: tokens.len(),
            parsed,
            rendered,
            all,
        })
    }
}

struct Timed {
    ids: usize,
    parsed: Duration,
    rendered: Duration,
    all: Duration,
}

fn prefixes(json: &str) -> Result<Vec<String>, Failure> {
    let mut request: serde_json::Value = serde_json::from_str(json)?;
    let messages = request["messages"].as_array().cloned().unwrap_or_default();
    let mut turns = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        if message["role"] == "user" {
            request["messages"] = messages[..=at].into();
            turns.push(request.to_string());
        }
    }
    Ok(turns)
}

#[expect(clippy::print_stdout, reason = "numbers are what it is for")]
fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let (directory, template) = (
        arguments.next().ok_or("no directory")?,
        arguments.next().ok_or("no template")?,
    );
    let files: Vec<String> = arguments.collect();
    let template = ChatTemplate::compile(&std::fs::read_to_string(template)?, Default::default())?;
    let uncached = Tokenizer::load(&directory)?.cache_bytes(0);
    let mut kept = Kept::default();
    for file in &files {
        let json = std::fs::read_to_string(file)?;
        for trust in [Trust::Strict, Trust::Compat] {
            let mut best: Option<Timed> = None;
            for _ in 0..RUNS {
                let timed = kept.ids(&template, &uncached, &json, trust)?;
                if best.as_ref().is_none_or(|best| timed.all < best.all) {
                    best = Some(timed);
                }
            }
            let Some(Timed {
                ids,
                parsed,
                rendered,
                all,
            }) = best
            else {
                continue;
            };
            let (render, encode) = (rendered - parsed, all - rendered);
            println!("{file} cold {trust:?}: {all:?} = {parsed:?} + {render:?} + {encode:?}, {ids} ids");
        }
    }
    let last = std::fs::read_to_string(files.last().ok_or("no request")?)?;
    let turns = prefixes(&last)?;
    let mut tokenizer = uncached;
    for (name, bytes) in [
        ("without cache", 0),
        ("with cache", typecase::tokenizer::DEFAULT_CACHE_BYTES),
    ] {
        for trust in [Trust::Strict, Trust::Compat] {
            let mut best = Duration::MAX;
            for _ in 0..RUNS / 4 {
                // Nothing is remembered at the first turn.
                tokenizer = tokenizer.cache_bytes(bytes);
                let start = Instant::now();
                for turn in &turns {
                    kept.ids(&template, &tokenizer, turn, trust)?;
                }
                best = best.min(start.elapsed());
            }
            let stats = tokenizer.cache_stats();
            println!("{} turns {name} {trust:?}: {best:?}, {stats:?}", turns.len());
        }
    }
    Ok(())
}
