//! What opens and closes a turn of the assistant, found out by rendering small conversations.
//!
//! The opening is the generation prompt: what a prompt has more if one is asked for. Where thinking is switched on and off
//! by an argument, the opening is what all those prompts share. A template that has no generation prompt opens the turn
//! with what closes the user's.

use crate::format::{Format, LocalTime, RenderOptions};
use crate::request::ChatRequest;
use crate::tokenizer::{EncodeOptions, Tokenizer, TurnMarks};
use typecase_jinja::value::Arena;

/// What a template is asked with, one after the other: switches of thinking.
const SWITCHES: &[&str] = &[
    "{}",
    r#"{"enable_thinking": false}"#,
    r#"{"enable_thinking": true}"#,
    r#"{"thinking": false}"#,
    r#"{"thinking": true}"#,
];

/// What is said in the probes, and found again.
const SAID: &str = "quux";

/// What the next message says: behind it other turns close.
const ANSWERED: &str = "wibble";

/// The tokens of a rendered probe.
struct Probe {
    text: String,
    ids: Vec<u32>,
    starts: Vec<usize>,
}

/// The marks of the prompts of `format`. `stop_ids`: the tokens that the model's configuration ends turns with.
pub(super) fn marks(format: &dyn Format, tokenizer: &Tokenizer, stop_ids: &[u32]) -> TurnMarks {
    let probe = |messages: &str, stub: bool, switches: &str| probe(format, tokenizer, messages, stub, switches);
    let user = format!(r#"{{"role": "user", "content": "{SAID}"}}"#);
    let mut marks = TurnMarks::closed_by(stop_ids);
    let mut openings = SWITCHES.iter().filter_map(|switches| {
        let closed = probe(&user, false, switches)?;
        let opened = probe(&user, true, switches)?;
        opened
            .text
            .starts_with(&closed.text)
            .then(|| opened.from(closed.text.len()))
    });
    if let Some(first) = openings.next() {
        let whole = first.len();
        marks.opening = openings.fold(first, shared);
        // Of two tags that differ only the bracket is shared, which belongs to what follows.
        while marks.opening.len() < whole && marks.opening.len() > 1 && marks.opening.last() == marks.opening.first() {
            marks.opening.pop();
        }
        marks.abridged = true;
    }
    if marks.opening.is_empty() {
        marks.abridged = false;
        marks.opening = probe(&user, true, SWITCHES[0]).map_or(Vec::new(), |probe| probe.after_said());
    }
    // Where no stop token closes a turn, its first special token does (`<|end|>` where the model stops with another).
    let said = format!(r#"{{"role": "user", "content": "x"}}, {{"role": "assistant", "content": "{SAID}"}}"#);
    let call = |arguments: &str| {
        format!(
            r#"{{"role": "user", "content": "x"}}, {{"role": "assistant", "content": "", "tool_calls": [{{"id": "call00001",
            "type": "function", "function": {{"name": "f", "arguments": {arguments}}}}}]}},
            {{"role": "tool", "tool_call_id": "call00001", "name": "f", "content": "{ANSWERED}"}}"#
        )
    };
    let conversations = [
        said.clone(),
        format!(r#"{said}, {{"role": "user", "content": "{ANSWERED}"}}"#),
        call(&format!(r#"{{"k": "{SAID}"}}"#)),
        call(&format!(r#""{{\"k\": \"{SAID}\"}}""#)),
    ];
    for messages in conversations {
        let Some(after) = probe(&messages, false, SWITCHES[0]).map(|probe| probe.after_said()) else {
            continue;
        };
        let special = |id: &&u32| tokenizer.added_tokens().by_id(**id).is_some_and(|token| token.special);
        // The first special token of what follows may open the next turn instead, where nothing closes one.
        let closing = after
            .iter()
            .find(special)
            .filter(|id| marks.opening.first().is_none_or(|first| first != *id));
        if let Some(&closing) = closing.filter(|_| !after.iter().any(|id| marks.closing.contains(id))) {
            marks.closing.push(closing);
        }
    }
    marks
}

fn shared(a: Vec<u32>, b: Vec<u32>) -> Vec<u32> {
    a.into_iter()
        .zip(b)
        .take_while(|(a, b)| a == b)
        .map(|(a, _)| a)
        .collect()
}

/// Renders a conversation; `None` if the format takes no such one.
fn probe(format: &dyn Format, tokenizer: &Tokenizer, messages: &str, stub: bool, switches: &str) -> Option<Probe> {
    let arena = Arena::new();
    let mut body =
        format!(r#"{{"messages": [{messages}], "add_generation_prompt": {stub}, "chat_template_kwargs": {switches}}}"#)
            .into_bytes();
    let request = ChatRequest::parse(&mut body, &arena).ok()?;
    // Any time will do: what is looked at is behind the last message.
    let prompt = format
        .render(&request, &RenderOptions::default().now(LocalTime::from_unix(0, 0, 0)))
        .ok()?;
    let tokens = tokenizer.encode_with(&prompt, EncodeOptions::new().ranges(true)).ok()?;
    Some(Probe {
        text: prompt.text().to_owned(),
        starts: tokens.ranges()?.iter().map(|range| range.start).collect(),
        ids: tokens.into_ids(),
    })
}

impl Probe {
    /// The tokens that begin at byte `at` or behind it.
    fn from(&self, at: usize) -> Vec<u32> {
        let first = self.starts.partition_point(|start| *start < at);
        self.ids[first..].to_vec()
    }

    /// The tokens behind what was said, up to what the next message says.
    fn after_said(&self) -> Vec<u32> {
        let Some(said) = self.text.rfind(SAID).map(|at| at + SAID.len()) else {
            return Vec::new();
        };
        let mut after = self.from(said);
        if let Some(answered) = self.text[said..].find(ANSWERED) {
            after.truncate(after.len() - self.from(said + answered).len());
        }
        after
    }
}
