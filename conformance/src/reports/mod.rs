//! Cases made after public reports of people who render chat prompts for a living, in exact mode.
//!
//! A case holds if everything holds that it expects of exact mode. What cannot be decided without serve mode, a
//! tokenizer or a server is counted as skipped, by the name of the case and what is missing.

mod check;
mod engine;
mod request;
mod subject;
mod tokens;

use crate::report::{Outcome, Report};
use anyhow::{Context, Result, bail};
use check::{Verdict, check};
use request::Body;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;
use subject::{Got, Subject};
use typecase::RenderOptions;
use typecase::tokenizer::Tokenizer;
use typecase::value::{Arena, Dict, Value, json};

/// The clock of the oracle, for cases that do not say what time it is.
const NOW: &str = "2026-03-14T15:09:26.535897";

/// Which cases.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Cases, one JSON object per line.
    file: PathBuf,
    /// Directory of the templates that cases name, `*.jinja`.
    #[arg(long)]
    templates: Option<PathBuf>,
    /// How many differences to show.
    #[arg(long, default_value_t = 20)]
    show: usize,
}

/// One case.
#[derive(Debug)]
struct Case<'a> {
    value: Value<'a>,
    subject: Subject,
    /// Set if the case expects something of ids.
    tokenizer: Option<Tokenizer>,
    options: RenderOptions,
}

impl Case<'_> {
    fn is_native(&self) -> bool {
        !matches!(self.subject, Subject::Templates(_) | Subject::Broken(_))
    }

    fn body(&self, replaced: Option<Value<'_>>, turns: Option<usize>) -> Option<Body> {
        request::body(self.value, replaced, turns)
    }

    /// Renders the case, with fields replaced; `None` if it describes no request.
    fn render(&self, replaced: Option<Value<'_>>, turns: Option<usize>) -> Option<Got> {
        let body = self.body(replaced, turns)?;
        Some(self.subject.render(&body, &self.options, self.tokenizer.as_ref()))
    }

    /// The time from the case's request to its ids.
    fn time(&self) -> Option<Duration> {
        let body = self.body(None, None)?;
        Some(self.subject.time(&body, &self.options, self.tokenizer.as_ref()))
    }
}

/// Checks all cases. Whether none of them fails.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let text = fs::read_to_string(&args.file).with_context(|| args.file.display().to_string())?;
    let mut report = Report::default();
    let mut skipped: Vec<(String, String)> = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
        let arena = Arena::new();
        let Ok(value) = json::parse_str(line, &arena) else {
            bail!("line {} is no JSON", number + 1);
        };
        let id = value.lookup("id").and_then(|id| id.as_str());
        let id = id.with_context(|| format!("line {} has no `id`", number + 1))?;
        let now = value.lookup("now").and_then(|now| now.as_str()).unwrap_or(NOW);
        let case = Case {
            value,
            subject: Subject::new(value, args.templates.as_deref()),
            tokenizer: tokens::tokenizer(value),
            options: crate::clock::options_at(Some(now))?,
        };
        let (outcome, later) = run_case(&case);
        skipped.extend(later.into_iter().map(|what| (id.to_owned(), what)));
        if let Some(outcome) = outcome {
            report.add(id, outcome);
        }
    }
    // Cases that wait for the same stand together.
    skipped.sort_by(|(_, a), (_, b)| a.cmp(b));
    for (id, why) in skipped {
        report.add(&id, Outcome::Skipped(why));
    }
    report.print("reports", args.show)?;
    Ok(report.agrees())
}

/// What became of a case, unless nothing of it can be decided yet; and what it waits for.
fn run_case(case: &Case<'_>) -> (Option<Outcome>, Vec<String>) {
    let field = |name: &str| case.value.lookup(name).and_then(|value| value.as_dict());
    let expected: Option<&Dict<'_>> = field("expect_exact").or_else(|| field("expect"));
    let Some(expected) = expected else {
        return (Some(Outcome::Different("expects nothing".to_owned())), Vec::new());
    };
    if let Subject::Missing(why) = &case.subject {
        return (None, vec![why.clone()]);
    }
    let mut later: Vec<String> = Vec::new();
    if field("expect_exact").is_some() && field("expect").is_some() {
        later.push("whose other half is decided in serve mode".to_owned());
    }
    let (verdicts, refused) = match case.value.lookup("engine") {
        Some(engine) => (engine::adapt(case, engine, expected), false),
        None => {
            let Some(got) = case.render(None, None) else {
                return (Some(Outcome::Different("describes no request".to_owned())), later);
            };
            (check(case, expected, &got), matches!(got, Got::Refused(_)))
        }
    };
    let mut fails = Vec::new();
    let mut holds = 0;
    for (name, verdict) in verdicts {
        match verdict {
            Verdict::Holds => holds += 1,
            Verdict::Fails(how) => fails.push(format!("{name}: {how}")),
            Verdict::Later(what) => later.push(format!("which wait for {what} with a part")),
        }
    }
    later.sort_unstable();
    later.dedup();
    let outcome = match (fails.is_empty(), holds, refused) {
        (false, _, _) => Some(Outcome::Different(fails.join("\n"))),
        (true, 0, _) => None,
        (true, _, true) => Some(Outcome::BothRefuse),
        (true, _, false) => Some(Outcome::Equal),
    };
    (outcome, later)
}
