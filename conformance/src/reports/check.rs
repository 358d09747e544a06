//! What a case expects, held against what came out.

use super::Case;
use super::request::{Body, kwargs_without};
use super::subject::{Failure, Got, Rendered};
use crate::templates::{difference, spans};
use std::time::{Duration, Instant};
use typecase::Fault;
use typecase::value::{Arena, Dict, Value};

/// What became of one expectation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Holds,
    Fails(String),
    /// It cannot be decided yet; what is missing.
    Later(&'static str),
}

use Verdict::{Fails, Holds, Later};

const SERVE: &str = "serve mode";
const ENGINE: &str = "worker adapters";
const SERVER: &str = "the server";

/// Runs of which the fastest is the time.
const RUNS: usize = 30;
/// On a busy machine the longer of two times is disturbed in most runs: so many at most.
const MOST_RUNS: usize = 300;

/// Renders that are to be the same.
const REPEATS: usize = 20;

/// Holds every field of `expected` against `got`; names each with what became of it.
pub(super) fn check<'a>(case: &Case<'_>, expected: &'a Dict<'a>, got: &Got) -> Vec<(&'a str, Verdict)> {
    let mut verdicts = Vec::new();
    for (name, value) in expected.str_entries() {
        match (name.as_str(), value.as_dict()) {
            ("property", Some(properties)) => verdicts.extend(check(case, properties, got)),
            (name, _) => verdicts.push((name, one(case, name, value, got))),
        }
    }
    verdicts
}

fn one(case: &Case<'_>, name: &str, value: Value<'_>, got: &Got) -> Verdict {
    match name {
        "any_of" => return any_of(case, value, got),
        "error_kind" | "error_contains" | "fault" | "when" => {
            return match got {
                Got::Refused(failure) => of_failure(name, value, failure),
                Got::Prompt(prompt) => Fails(format!(
                    "rendered {:?}",
                    prompt.text.chars().take(80).collect::<String>()
                )),
            };
        }
        "process_survives" | "no_fallback" => return Holds,
        "bounded_seconds" => return bounded(case, value),
        "reported" => return Later(SERVE),
        "engines" => return super::engine::engines(case, value),
        "health_answers_within_ms" | "refused_early_when_over" => return Later(SERVER),
        "mask_option" => return Later("serve mode"),
        "mask_survives_expansion" => return Later(ENGINE),
        "incremental_equals_full" => return Later("incremental rendering"),
        _ => {}
    }
    match got {
        Got::Prompt(prompt) => of_prompt(case, name, value, prompt),
        Got::Refused(failure) => Fails(format!("refused: {}", failure.refusal.shown)),
    }
}

fn of_failure(name: &str, value: Value<'_>, failure: &Failure) -> Verdict {
    let refusal = &failure.refusal;
    let holds = match name {
        "error_kind" => value.as_str() == Some(refusal.kind),
        "fault" => value.as_str() == Some(fault_name(failure.fault)),
        "when" => value.as_str() == Some("load") && failure.at_load,
        // In exact mode, only messages of `raise_exception` need to be Python's.
        _ => strings(value).iter().all(|part| refusal.shown.contains(part)),
    };
    verdict(holds, || {
        format!("{} error, fault {:?}: {}", refusal.kind, failure.fault, refusal.shown)
    })
}

fn fault_name(fault: Fault) -> &'static str {
    match fault {
        Fault::Client => "client",
        Fault::Server => "server",
    }
}

fn of_prompt(case: &Case<'_>, name: &str, value: Value<'_>, prompt: &Rendered) -> Verdict {
    let text = prompt.text.as_str();
    match name {
        "text" => same_text(value.as_str().unwrap_or_default(), text),
        "spans" => verdict(spans(value).is_ok_and(|spans| spans == prompt.spans), || {
            format!("spans {:?}", prompt.spans)
        }),
        "segments" => segments(value, prompt),
        "renders" => Holds,
        "ids_equal_reference" => ids_equal_reference(case, prompt),
        "decodes_to_text" | "token_mask_follows_spans" | "mask_covers" | "mask_excludes" => {
            of_tokens(name, value, prompt)
        }
        "contains" => verdict(strings(value).iter().all(|part| text.contains(part)), || {
            text.to_owned()
        }),
        "not_contains" => verdict(!strings(value).iter().any(|part| text.contains(part)), || {
            text.to_owned()
        }),
        "in_order" => verdict(in_order(text, &strings(value)), || text.to_owned()),
        "media_count" => media_count(case, value, prompt),
        "control_tokens" => control_tokens(value, prompt),
        "same_as" => variant(case, value, |other| same_text(text, other)),
        "differs_from" => all(value, |replaced| {
            variant(case, replaced, |other| {
                verdict(text != other, || format!("{replaced:?} gives the same"))
            })
        }),
        "same_as_template" => variant(case, value, |other| {
            same_text(
                value.lookup("text").and_then(|text| text.as_str()).unwrap_or_default(),
                other,
            )
        }),
        "ignored" => {
            let arena = Arena::new();
            match kwargs_without(case.value, &strings(value), &arena) {
                Some(replaced) => variant(case, replaced, |other| same_text(text, other)),
                None => Fails("no `kwargs`".to_owned()),
            }
        }
        "deterministic" => {
            let same = (0..REPEATS).all(|_| match case.render(None, None) {
                Some(Got::Prompt(again)) => again == *prompt,
                _ => false,
            });
            verdict(same, || "another render differs".to_owned())
        }
        "linear" => linear(case, value),
        _ => Later("a property that the harness does not know"),
    }
}

/// Whether one of several lists of expectations holds.
fn any_of(case: &Case<'_>, alternatives: Value<'_>, got: &Got) -> Verdict {
    let mut later = None;
    let mut fails = Vec::new();
    for alternative in alternatives.as_list().map_or(&[][..], |list| list.items()) {
        let Some(expected) = alternative.as_dict() else {
            continue;
        };
        let verdicts = check(case, expected, got);
        if verdicts.iter().all(|(_, verdict)| *verdict == Holds) {
            return Holds;
        }
        let failed = verdicts.iter().find_map(|(name, verdict)| match verdict {
            Fails(how) => Some(format!("{name}: {how}")),
            _ => None,
        });
        match failed {
            Some(failed) => fails.push(failed),
            None => {
                later = verdicts.iter().find_map(|(_, verdict)| match verdict {
                    Later(what) => Some(*what),
                    _ => None,
                });
            }
        }
    }
    later.map_or_else(|| Fails(fails.join("\n")), Later)
}

fn segments(value: Value<'_>, prompt: &Rendered) -> Verdict {
    let pair = |pair: &Value<'_>| match pair.as_list()?.items() {
        [Value::Str(text), Value::Bool(control, _)] => Some((text.as_str().to_owned(), *control)),
        _ => None,
    };
    let expected: Option<Vec<(String, bool)>> = value
        .as_list()
        .and_then(|pairs| pairs.items().iter().map(pair).collect());
    verdict(expected.as_ref() == Some(&prompt.segments), || {
        format!("{:?}", prompt.segments)
    })
}

fn of_tokens(name: &str, value: Value<'_>, prompt: &Rendered) -> Verdict {
    let Some(encoded) = &prompt.encoded else {
        return Fails("the prompt has no tokens".to_owned());
    };
    let text = prompt.text.as_str();
    let parts = strings(value);
    let holds = match name {
        "decodes_to_text" => return same_text(text, &encoded.decoded),
        "token_mask_follows_spans" => encoded.mask_follows_spans(),
        "mask_covers" => parts.iter().all(|part| encoded.mask_is(text, part, true)),
        _ => parts.iter().all(|part| encoded.mask_is(text, part, false)),
    };
    verdict(holds, || format!("{encoded:?}"))
}

/// Of Kimi K3, whose tokenizer is known here as code.
fn ids_equal_reference(case: &Case<'_>, prompt: &Rendered) -> Verdict {
    let encoded = prompt.encoded.as_ref().filter(|_| case.is_native());
    match encoded.and_then(|encoded| encoded.equals_reference(&prompt.segments)) {
        Some(same) => verdict(same, || "other ids".to_owned()),
        None => Later("the tokenizer of the checkpoint"),
    }
}

/// Both what the template wrote and what the tokenizer makes of it.
fn control_tokens(value: Value<'_>, prompt: &Rendered) -> Verdict {
    for (token, count) in value.as_dict().into_iter().flat_map(|tokens| tokens.str_entries()) {
        let found = prompt.trusted_count(token.as_str());
        if !matches!(count, Value::Int(count, _) if usize::try_from(count) == Ok(found)) {
            return Fails(format!("{} was written {found} times by the template", token.as_str()));
        }
        let encoded = prompt
            .encoded
            .as_ref()
            .and_then(|encoded| encoded.control(token.as_str()));
        if encoded != Some(found) {
            return Fails(format!("{} is {encoded:?} times among the ids", token.as_str()));
        }
    }
    Holds
}

fn media_count(case: &Case<'_>, value: Value<'_>, prompt: &Rendered) -> Verdict {
    let Value::Int(count, _) = value else {
        return Fails("no number".to_owned());
    };
    let placeholder = case.value.lookup("placeholder").and_then(|value| value.as_str());
    let found = match (case.is_native(), placeholder) {
        (true, _) => prompt.media,
        (false, Some(placeholder)) => prompt.trusted_count(placeholder),
        (false, None) => return Later("media"),
    };
    verdict(usize::try_from(count) == Ok(found), || format!("{found} media items"))
}

fn in_order(text: &str, parts: &[&str]) -> bool {
    let mut rest = text;
    parts.iter().all(|part| match rest.split_once(part) {
        Some((_, after)) => {
            rest = after;
            text.matches(part).count() == 1
        }
        None => false,
    })
}

fn bounded(case: &Case<'_>, value: Value<'_>) -> Verdict {
    let Some(seconds) = seconds(value) else {
        return Fails("no number".to_owned());
    };
    let Some(took) = case.time() else {
        return Fails("no request".to_owned());
    };
    verdict(took.as_secs_f64() <= seconds, || format!("took {took:?}"))
}

fn linear(case: &Case<'_>, value: Value<'_>) -> Verdict {
    let turns: Option<Vec<usize>> = value
        .lookup("turns")
        .and_then(|turns| turns.as_list())
        .and_then(|turns| {
            let turn = |turn: &Value<'_>| match turn {
                Value::Int(turn, _) => usize::try_from(*turn).ok(),
                _ => None,
            };
            turns.items().iter().map(turn).collect()
        });
    let (Some([few, many]), Some(max_ratio)) = (turns.as_deref(), value.lookup("max_ratio").and_then(seconds)) else {
        return Fails("no `turns` or no `max_ratio`".to_owned());
    };
    let run = |body: &Option<Body>| {
        let start = Instant::now();
        let _ = body.as_ref().map(|body| case.subject.render(body, &case.options, None));
        start.elapsed()
    };
    // The least of many runs, by turns: other work of the machine only adds to a time.
    let bodies = [*few, *many].map(|turns| case.body(None, Some(turns)));
    let [mut few, mut many] = [Duration::MAX; 2];
    let is_linear = |few: Duration, many: Duration| many.as_secs_f64() <= max_ratio * few.as_secs_f64();
    for round in 0..MOST_RUNS {
        few = few.min(run(&bodies[0]));
        many = many.min(run(&bodies[1]));
        if round + 1 >= RUNS && is_linear(few, many) {
            break;
        }
    }
    verdict(is_linear(few, many), || {
        format!("twice the turns take {many:?} instead of {few:?}")
    })
}

fn seconds(value: Value<'_>) -> Option<f64> {
    match value {
        Value::Int(number, _) => Some(number as f64),
        Value::Float(number, _) => Some(number),
        _ => None,
    }
}

/// Renders with fields replaced and compares the text.
fn variant(case: &Case<'_>, replaced: Value<'_>, compare: impl Fn(&str) -> Verdict) -> Verdict {
    match case.render(Some(replaced), None) {
        Some(Got::Prompt(other)) => compare(&other.text),
        Some(Got::Refused(failure)) => Fails(format!("the variant is refused: {}", failure.refusal.shown)),
        None => Fails("the variant cannot be made".to_owned()),
    }
}

fn all<'a>(value: Value<'a>, check: impl Fn(Value<'a>) -> Verdict) -> Verdict {
    let items = value.as_list().map_or(&[][..], |list| list.items());
    items
        .iter()
        .map(|item| check(*item))
        .find(|verdict| *verdict != Holds)
        .unwrap_or(Holds)
}

fn strings<'a>(value: Value<'a>) -> Vec<&'a str> {
    match value {
        Value::Str(text) => vec![text.as_str()],
        Value::List(list) => list.items().iter().filter_map(|item| item.as_str()).collect(),
        _ => Vec::new(),
    }
}

fn same_text(expected: &str, found: &str) -> Verdict {
    verdict(expected == found, || difference(expected, found))
}

fn verdict(holds: bool, how: impl FnOnce() -> String) -> Verdict {
    match holds {
        true => Holds,
        false => Fails(how()),
    }
}
