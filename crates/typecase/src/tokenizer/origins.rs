//! Where each token came from, and what follows: loss masks, message indices, labels.
//!
//! A token counts as content of a message if any of its bytes was read from that message; else it is scaffolding. The
//! **generation mask** marks what a model wrote or is to learn to write: the `{% generation %}` blocks of a chat template
//! where there are any; else the turns of the assistant ([`TurnMarks`]): what it said, the format's scaffolding within, and
//! the token that closes the turn, which the model samples too.

use super::{Tokens, TurnMarks};
use crate::prompt::{Prompt, Writer};
use std::ops::Range;
use typecase_jinja::value::{Path, Step, Value};

/// What a label is where nothing is to be learned (`ignore_index` of PyTorch's losses).
pub const IGNORED_LABEL: i64 = -100;

/// Where one token came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenOrigin {
    /// The bytes of the prompt it stands for.
    pub range: Range<usize>,
    /// Who wrote them: the request if it wrote any of them.
    pub writer: Writer,
    /// The message its content is from; for a token that ends a turn of the assistant, that turn's. `None`: scaffolding
    /// that belongs to no message.
    pub message: Option<usize>,
    /// Whether any of its bytes is from a field of a message.
    pub is_content: bool,
    /// Whether it is in the generation mask.
    pub is_generated: bool,
}

/// Where the tokens of a prompt came from.
#[derive(Clone, Debug, Default)]
pub struct TokenOrigins {
    ids: Vec<u32>,
    tokens: Vec<TokenOrigin>,
    /// The role of each message of the request.
    roles: Vec<String>,
    /// The field that each run of the request came from, by where the run begins.
    fields: Vec<(usize, Path)>,
}

/// A run of bytes of a message.
struct Content {
    range: Range<usize>,
    message: usize,
    /// Read from its role, not from what it says.
    is_role: bool,
}

impl TokenOrigins {
    /// Where `tokens`, which were encoded with their ranges, came from. `marks` tell turns apart.
    pub(super) fn new(prompt: &Prompt<'_>, tokens: &Tokens, marks: &TurnMarks) -> Self {
        let roles = roles(prompt.provenance().request());
        let mut contents = Vec::new();
        let mut fields = Vec::new();
        let runs: Vec<(Range<usize>, Writer)> = prompt.provenance().ranges().collect();
        for (range, writer) in &runs {
            let Writer::Request(origin) = *writer else { continue };
            let path = prompt.provenance().path(origin);
            if let Some((message, is_role)) = message_of(&path) {
                contents.push(Content {
                    range: range.clone(),
                    message,
                    is_role,
                });
            }
            fields.push((range.start, path));
        }
        let mut origins: Vec<TokenOrigin> = Vec::with_capacity(tokens.len());
        let mut next = 0;
        let mut run = 0;
        for range in tokens.ranges().unwrap_or_default() {
            while contents
                .get(next)
                .is_some_and(|content| content.range.end <= range.start)
            {
                next += 1;
            }
            let content = contents[next..]
                .iter()
                .take_while(|content| content.range.start < range.end)
                .find(|content| !content.is_role);
            while runs.get(run).is_some_and(|(bytes, _)| bytes.end <= range.start) {
                run += 1;
            }
            let touched = runs[run..].iter().take_while(|(bytes, _)| bytes.start < range.end);
            let mut writer = Writer::Format;
            for (_, other) in touched {
                writer = match (writer, *other) {
                    (Writer::Request(_), _) => writer,
                    (_, other) => other,
                };
            }
            origins.push(TokenOrigin {
                range: range.clone(),
                writer,
                message: content.map(|content| content.message),
                is_content: content.is_some(),
                is_generated: false,
            });
        }
        let mut all = TokenOrigins {
            ids: tokens.ids().to_vec(),
            tokens: origins,
            roles,
            fields,
        };
        match prompt.generation_spans() {
            [] => all.mark_turns(marks),
            spans => all.mark_spans(spans),
        }
        all
    }

    /// Marks tokens that share a byte with a span.
    fn mark_spans(&mut self, spans: &[Range<usize>]) {
        for span in spans {
            let first = self.tokens.partition_point(|token| token.range.end <= span.start);
            for token in &mut self.tokens[first..] {
                if token.range.start >= span.end {
                    break;
                }
                token.is_generated = true;
            }
        }
    }

    /// Marks the turns of the assistant, with the token that ends each.
    fn mark_turns(&mut self, marks: &TurnMarks) {
        let is_assistant = |message: usize| self.role(message) == Some("assistant");
        for (message, turn) in marks.find(&self.ids, &self.tokens, is_assistant) {
            for token in &mut self.tokens[turn] {
                token.is_generated = true;
                token.message = Some(message);
            }
        }
    }

    /// The tokens, in order.
    pub fn tokens(&self) -> &[TokenOrigin] {
        &self.tokens
    }

    /// Their ids.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// The role of a message, as the request has it.
    pub fn role(&self, message: usize) -> Option<&str> {
        self.roles.get(message).map(String::as_str)
    }

    /// The field of the request that a token, or the first of its bytes that the request wrote, was read from.
    pub fn field(&self, token: &TokenOrigin) -> Option<&Path> {
        if !matches!(token.writer, Writer::Request(_)) {
            return None;
        }
        let after = self.fields.partition_point(|(start, _)| *start <= token.range.start);
        // The run that the token begins in, unless another writer's came between; else the next one.
        let within = after.checked_sub(1).map(|index| &self.fields[index]);
        let next = self.fields.get(after).filter(|(start, _)| *start < token.range.end);
        next.or(within).map(|(_, path)| path)
    }

    /// For each token whether a model wrote it or is to learn to: `assistant_masks` of transformers.
    pub fn generation_mask(&self) -> Vec<bool> {
        self.tokens.iter().map(|token| token.is_generated).collect()
    }

    /// For each token its message, or -1: `message_indices` of Prime Intellect's renderers.
    pub fn message_indices(&self) -> Vec<i64> {
        let index = |token: &TokenOrigin| token.message.map_or(-1, |message| message as i64);
        self.tokens.iter().map(index).collect()
    }

    /// For each token whether it is content of a message.
    pub fn content_mask(&self) -> Vec<bool> {
        self.tokens.iter().map(|token| token.is_content).collect()
    }

    /// For each token whether it is content of a message of one of these roles.
    pub fn role_mask(&self, roles: &[&str]) -> Vec<bool> {
        let wanted = |token: &TokenOrigin| {
            let role = token.message.and_then(|message| self.role(message));
            token.is_content && role.is_some_and(|role| roles.contains(&role))
        };
        self.tokens.iter().map(wanted).collect()
    }

    /// The ids to be learned, and [`IGNORED_LABEL`] for all outside the generation mask.
    pub fn labels(&self) -> Vec<i64> {
        let labels = self.ids.iter().zip(&self.tokens);
        labels
            .map(|(&id, token)| {
                if token.is_generated {
                    i64::from(id)
                } else {
                    IGNORED_LABEL
                }
            })
            .collect()
    }
}

/// The message that a path leads into, and whether to its role.
fn message_of(path: &Path) -> Option<(usize, bool)> {
    let mut steps = path.steps();
    match (steps.next(), steps.next()) {
        (Some(Step::Key(key)), Some(&Step::Index(message))) if key == "messages" => {
            Some((message, matches!(steps.next(), Some(Step::Key(key)) if key == "role")))
        }
        _ => None,
    }
}

fn roles(request: Value<'_>) -> Vec<String> {
    let messages = request.lookup("messages").and_then(|messages| messages.as_list());
    let role = |message: &Value<'_>| {
        message
            .lookup("role")
            .and_then(|role| role.as_str())
            .unwrap_or_default()
            .to_owned()
    };
    messages.map_or(Vec::new(), |list| list.items().iter().map(role).collect())
}
