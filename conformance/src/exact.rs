//! What a chat template gives in exact mode, in the words of the oracle.

use typecase::format::chat_template::Arguments;
use typecase::format::{ChatTemplate, RenderOptions};
use typecase::prompt::Prompt;
use typecase::value::{Arena, Value};
use typecase::{Error, ErrorKind};

/// What came of one render.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Text {
        text: String,
        /// `{% generation %}` blocks in code points.
        spans: Vec<(usize, usize)>,
    },
    Refused(Refusal),
}

/// An error as the oracle sorts them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// `raise_exception`, `syntax`, `undefined`, `type`, `security`, `continue`, or `other`; `limit` and `unsupported`,
    /// which Python has not.
    pub(crate) kind: &'static str,
    /// The name of Python's exception.
    pub(crate) exception: &'static str,
    /// The message without the place.
    pub(crate) message: String,
    /// The whole of it, for the reader.
    pub(crate) shown: String,
}

/// The arguments that a line of a conversations file gives to `apply_chat_template`.
pub(crate) fn arguments<'a>(conversation: Value<'a>) -> Arguments<'a> {
    let mut arguments = Arguments::new(Value::None(Default::default()));
    let of = |name: &str, default: Value<'a>| conversation.lookup(name).unwrap_or(default);
    arguments.messages = of("messages", arguments.messages);
    arguments.tools = of("tools", arguments.tools);
    arguments.documents = of("documents", arguments.documents);
    arguments.add_generation_prompt = of("add_generation_prompt", arguments.add_generation_prompt);
    arguments.continue_final_message = of("continue_final_message", arguments.continue_final_message);
    arguments.kwargs = conversation.lookup("kwargs").and_then(|kwargs| kwargs.as_dict());
    arguments.reasoning_effort = conversation
        .lookup("reasoning_effort")
        .filter(|effort| !effort.is_none());
    arguments
}

/// Renders a line of a conversations file, of `bytes` bytes.
pub(crate) fn render(template: &ChatTemplate, conversation: Value<'_>, bytes: usize, options: &RenderOptions) -> Found {
    let arena = Arena::new();
    render_in(template, conversation, bytes, options, &arena)
}

fn render_in<'a>(
    template: &ChatTemplate,
    conversation: Value<'a>,
    bytes: usize,
    options: &RenderOptions,
    arena: &'a Arena,
) -> Found {
    let mut arguments = arguments(conversation);
    arguments.request_bytes = bytes;
    match template.render_arguments(&arguments, conversation, arena, options) {
        Ok(prompt) => Found::Text {
            text: prompt.text().to_owned(),
            spans: spans(&prompt),
        },
        Err(err) => Found::Refused(refusal(&err)),
    }
}

/// The generation blocks in code points, as the oracle counts.
pub(crate) fn spans(prompt: &Prompt<'_>) -> Vec<(usize, usize)> {
    let points = |end: usize| prompt.text()[..end].chars().count();
    let spans = prompt.generation_spans().iter();
    spans.map(|span| (points(span.start), points(span.end))).collect()
}

/// How the oracle sorts an error.
pub(crate) fn refusal(err: &Error) -> Refusal {
    let (kind, exception) = sort(err);
    let message = match err.kind() {
        ErrorKind::Template { message, .. } => message.clone(),
        kind => kind.to_string(),
    };
    Refusal {
        kind,
        exception,
        message,
        shown: err.to_string(),
    }
}

fn sort(err: &Error) -> (&'static str, &'static str) {
    use typecase::format::chat_template::TemplateErrorKind as T;
    match err.kind() {
        ErrorKind::Template { kind, .. } => match kind {
            T::Syntax => ("syntax", "TemplateSyntaxError"),
            T::RaiseException => ("raise_exception", "TemplateError"),
            T::Undefined => ("undefined", "UndefinedError"),
            T::Type => ("type", "TypeError"),
            T::Security => ("security", "SecurityError"),
            T::Value => ("other", "ValueError"),
            T::Key => ("other", "KeyError"),
            T::Index => ("other", "IndexError"),
            T::Attribute => ("other", "AttributeError"),
            T::ZeroDivision => ("other", "ZeroDivisionError"),
            T::Overflow => ("other", "OverflowError"),
            T::Recursion => ("other", "RecursionError"),
            T::Runtime => ("other", "TemplateRuntimeError"),
            T::Limit => ("limit", "Limit"),
            _ => ("unsupported", "Unsupported"),
        },
        ErrorKind::CannotContinue { .. } | ErrorKind::Conflict { .. } => ("continue", "ValueError"),
        // Python meets values of a wrong type in one way or another, depending on where they stand.
        ErrorKind::WrongType { found, .. } => {
            let steps: Vec<String> = err.path().steps().map(|step| format!("{step:?}")).collect();
            match (steps.first().map(String::as_str), steps.len()) {
                (Some("Key(\"documents\")"), _) => ("type", "TypeError"),
                (Some("Key(\"messages\")"), 3..) => ("type", "TypeError"),
                (Some("Key(\"messages\")"), 2) => ("other", "AttributeError"),
                (Some("Key(\"tools\")"), 1) if matches!(*found, "number" | "boolean") => ("type", "TypeError"),
                _ => ("other", "ValueError"),
            }
        }
        _ => ("other", "ValueError"),
    }
}
