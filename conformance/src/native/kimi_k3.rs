//! Kimi K3, reference profile: segments and flags.

use super::Case;
use crate::report::Outcome;
use std::fmt::Write;
use typecase::format::kimi_k3::{Entry, KimiK3, Profile, Reference};
use typecase::prompt::{Prompt, SpecialTokens};
use typecase::request::{ChatRequest, ParseOptions, Validation};
use typecase::value::json::{self, WriteOptions};
use typecase::value::{Arena, Value};
use typecase::{Format, RenderOptions};

/// Segments that a difference shows before the first that differs.
const CONTEXT: usize = 2;

pub(super) fn check(case: Case<'_>) -> Outcome {
    let expected = segments(case.expected.lookup("segments"));
    let refused = case.expected.lookup("error").is_some();
    if refused == expected.is_some() {
        return Outcome::Different("the case has neither segments nor an error, or both".to_owned());
    }
    let Some(format) = format(case.input) else {
        return Outcome::Different("`image_prompts` is no list of strings".to_owned());
    };
    let mut body = request_body(case.input).into_bytes();
    let arena = Arena::new();
    let options = ParseOptions::default().validation(Validation::Shape);
    let result = ChatRequest::parse_with(&mut body, &arena, &options)
        .and_then(|request| format.render(&request, &RenderOptions::default()));
    match (result, expected) {
        (Ok(prompt), Some(expected)) => compare(&expected, &prompt),
        (Err(_), None) => Outcome::BothRefuse,
        (Ok(prompt), None) => Outcome::Different(format!("expected an error\nrendered {:?}", prompt.text())),
        (Err(err), Some(_)) => Outcome::Different(format!("expected segments\nrefused: {err}")),
    }
}

fn segments<'a>(value: Option<Value<'a>>) -> Option<Vec<(&'a str, bool)>> {
    let pair = |pair: &Value<'a>| match pair.as_list()?.items() {
        [Value::Str(text), Value::Bool(control, _)] => Some((text.as_str(), *control)),
        _ => None,
    };
    value?.as_list()?.items().iter().map(pair).collect()
}

fn format(input: Value<'_>) -> Option<KimiK3> {
    let entry = match input.lookup("entry").and_then(|entry| entry.as_str()) {
        Some("apply_chat_template") => Entry::ApplyChatTemplate,
        _ => Entry::BuildChatSegments,
    };
    let image_prompts = match input.lookup("image_prompts") {
        None | Some(Value::None(_)) => None,
        Some(Value::List(prompts)) => {
            let prompts = prompts.items().iter().map(|prompt| prompt.as_str().map(str::to_owned));
            Some(prompts.collect::<Option<Vec<String>>>()?)
        }
        Some(_) => return None,
    };
    let reference = Reference::default().entry(entry).image_prompts(image_prompts);
    Some(KimiK3::new(Profile::Reference(reference)))
}

/// The arguments of the encoder as a request: its keyword arguments are `chat_template_kwargs`.
fn request_body(input: Value<'_>) -> String {
    let mut body = "{".to_owned();
    let field = |body: &mut String, name: &str, value: Value<'_>| {
        if body.len() > 1 && !body.ends_with('{') {
            body.push_str(", ");
        }
        json::write_str(body, name, false);
        body.push_str(": ");
        // What was read from JSON has a spelling in JSON.
        let _ = json::write(body, &value, &WriteOptions::default());
    };
    for name in ["messages", "tools"] {
        if let Some(value) = input.lookup(name) {
            field(&mut body, name, value);
        }
    }
    if let Some(flag) = input.lookup("add_generation_prompt") {
        let on = !matches!(flag, Value::None(_) | Value::Bool(false, _));
        field(&mut body, "add_generation_prompt", Value::Bool(on, flag.origin()));
    }
    body.push_str(", \"chat_template_kwargs\": {");
    for (name, value) in input
        .lookup("kwargs")
        .into_iter()
        .filter_map(|kwargs| kwargs.as_dict())
        .flat_map(|d| d.str_entries())
    {
        field(&mut body, name.as_str(), value);
    }
    if let Some(thinking) = input.lookup("thinking") {
        field(&mut body, "thinking", thinking);
    }
    body.push_str("}}");
    body
}

fn compare(expected: &[(&str, bool)], prompt: &Prompt<'_>) -> Outcome {
    let found: Vec<(&str, bool)> = prompt
        .segment_texts()
        .map(|(text, special)| (text, special == SpecialTokens::All))
        .collect();
    let same = expected.iter().zip(&found).take_while(|(a, b)| a == b).count();
    if same == expected.len() && same == found.len() {
        return Outcome::Equal;
    }
    let mut how = format!(
        "segment {same} differs ({} expected, {} found)\n",
        expected.len(),
        found.len()
    );
    for (side, segments) in [("expected", expected), ("found   ", &found)] {
        let from = same.saturating_sub(CONTEXT);
        let shown: Vec<String> = segments[from..(same + 3).min(segments.len())]
            .iter()
            .map(show)
            .collect();
        let _ = writeln!(how, "{side} {}", shown.join(" "));
    }
    Outcome::Different(how)
}

fn show((text, control): &(&str, bool)) -> String {
    if *control {
        format!("[{text}]")
    } else {
        format!("{text:?}")
    }
}
