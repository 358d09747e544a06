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

/// Runs of which the median counts, of both trusts in turn.
const RUNS: usize = 101;
const TRUSTS: [Trust; 2] = [Trust::Strict, Trust::Compat];

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
        prompt.recycle();
        let all = start.elapsed();
        Ok(Timed {
            ids: tokens.len(),
            parsed,
            rendered,
            all,
        })
    }
}

#[derive(Clone, Copy)]
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
        let mut timed: [Vec<Timed>; 2] = Default::default();
        for _ in 0..RUNS {
            for (trust, timed) in TRUSTS.into_iter().zip(&mut timed) {
                timed.push(kept.ids(&template, &uncached, &json, trust)?);
            }
        }
        for (trust, mut timed) in TRUSTS.into_iter().zip(timed) {
            timed.sort_by_key(|timed| timed.all);
            let Timed {
                ids,
                parsed,
                rendered,
                all,
            } = timed[RUNS / 2];
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
        let mut timed: [Vec<Duration>; 2] = Default::default();
        for _ in 0..RUNS {
            for (trust, timed) in TRUSTS.into_iter().zip(&mut timed) {
                // Nothing is remembered at the first turn.
                tokenizer = tokenizer.cache_bytes(bytes);
                let start = Instant::now();
                for turn in &turns {
                    kept.ids(&template, &tokenizer, turn, trust)?;
                }
                timed.push(start.elapsed());
            }
        }
        for (trust, mut timed) in TRUSTS.into_iter().zip(timed) {
            timed.sort();
            println!("{} turns {name} {trust:?}: {:?}", turns.len(), timed[RUNS / 2]);
        }
        println!("{:?}", tokenizer.cache_stats());
    }
    Ok(())
}
