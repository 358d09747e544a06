//! What a case is rendered with: a template, several with names, or a format of our own.

use super::request::Body;
use super::tokens::Encoded;
use crate::exact::{self, Refusal};
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};
use typecase::format::chat_template::{Arguments, ChatTemplates, TokenNames};
use typecase::format::kimi_k3::{Entry, KimiK3, Profile, Reference};
use typecase::prompt::{Prompt, SpecialTokens, Writer};
use typecase::request::{ChatRequest, ParseOptions, Validation};
use typecase::tokenizer::Tokenizer;
use typecase::value::json::{self, WriteOptions};
use typecase::value::{Arena, Value};
use typecase::{Error, Fault, Format, RenderOptions};

/// What a case is rendered with.
#[derive(Debug)]
pub(super) enum Subject {
    Templates(ChatTemplates),
    KimiK3(KimiK3),
    /// The template does not compile.
    Broken(Error),
    /// It is not here, and why.
    Missing(String),
}

/// What came of one render.
#[derive(Clone, Debug)]
pub(super) enum Got {
    Prompt(Rendered),
    Refused(Failure),
}

/// A prompt, copied out of its arena.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rendered {
    pub(super) text: String,
    pub(super) spans: Vec<(usize, usize)>,
    pub(super) segments: Vec<(String, bool)>,
    /// The bytes that the format or trusted configuration wrote, neighbours joined.
    pub(super) trusted: Vec<Range<usize>>,
    /// Media items, as far as the format names them.
    pub(super) media: usize,
    /// Its tokens, if the case asks about them.
    pub(super) encoded: Option<Encoded>,
}

/// An error.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) refusal: Refusal,
    pub(super) fault: Fault,
    pub(super) at_load: bool,
}

impl Failure {
    pub(super) fn new(err: &Error, at_load: bool) -> Self {
        Failure {
            refusal: exact::refusal(err),
            fault: err.fault(),
            at_load,
        }
    }
}

/// `bos_token` and the like have the values of the oracle.
const TOKENS: [(&str, &str); 4] = [
    ("bos_token", "<s>"),
    ("eos_token", "</s>"),
    ("unk_token", "<unk>"),
    ("pad_token", "<pad>"),
];

/// The entry of the reference that a case means.
fn reference(entry: Option<&str>) -> Reference {
    Reference::default().entry(match entry {
        Some("apply_chat_template") => Entry::ApplyChatTemplate,
        _ => Entry::BuildChatSegments,
    })
}

impl Subject {
    /// Finds what `case` is about; files of templates are looked for in `directory`.
    pub(super) fn new(case: Value<'_>, directory: Option<&Path>) -> Self {
        let field = |name: &str| case.lookup(name).and_then(|value| value.as_str());
        if let Some(format) = field("format") {
            return match format {
                "kimi_k3" => Subject::KimiK3(KimiK3::new(Profile::Reference(reference(field("entry"))))),
                other => Subject::Missing(format!("as the format {other} is not reached yet")),
            };
        }
        let names: TokenNames = TOKENS.into_iter().collect();
        let compiled = match (case.lookup("templates"), field("template_name"), field("template")) {
            (Some(named), _, _) => {
                let named = named.as_list().map_or(&[][..], |named| named.items());
                let pair = |one: &Value<'_>| {
                    let field = |name: &str| one.lookup(name)?.as_str().map(str::to_owned);
                    Some((field("name")?, field("template")?))
                };
                let pairs: Vec<(String, String)> = named.iter().filter_map(pair).collect();
                ChatTemplates::compile(pairs.iter().map(|(n, t)| (n.as_str(), t.as_str())), &names)
            }
            (_, Some(name), _) => {
                let Some(directory) = directory else {
                    return Subject::Missing("as the directory of templates was not given".to_owned());
                };
                let path = directory.join(format!("{name}.jinja"));
                match fs::read_to_string(&path) {
                    Ok(source) => ChatTemplates::compile([("default", source.as_str())], &names),
                    Err(err) => return Subject::Missing(format!("as {} cannot be read: {err}", path.display())),
                }
            }
            (_, _, Some(source)) => ChatTemplates::compile([("default", source)], &names),
            // The case is about reading a request; any template will do.
            _ => ChatTemplates::compile([("default", "{{ messages | length }}")], &names),
        };
        match compiled {
            Ok(templates) => Subject::Templates(templates),
            Err(err) => Subject::Broken(err),
        }
    }

    /// Renders, or says why not.
    pub(super) fn render(&self, body: &Body, options: &RenderOptions, tokenizer: Option<&Tokenizer>) -> Got {
        match self.with_prompt(body, options, |prompt| Rendered::new(prompt, tokenizer)) {
            Ok(rendered) => Got::Prompt(rendered),
            Err(failure) => Got::Refused(failure),
        }
    }

    /// The time from the request to its ids, or to its refusal: what a server does, without what the checks look at.
    pub(super) fn time(&self, body: &Body, options: &RenderOptions, tokenizer: Option<&Tokenizer>) -> Duration {
        let start = Instant::now();
        let _ = self.with_prompt(body, options, |prompt| {
            tokenizer.map(|tokenizer| tokenizer.encode(prompt).map(|tokens| tokens.len()))
        });
        start.elapsed()
    }

    /// What `read` makes of the prompt, or why there is none.
    fn with_prompt<T>(
        &self,
        body: &Body,
        options: &RenderOptions,
        read: impl FnOnce(&Prompt<'_>) -> T,
    ) -> Result<T, Failure> {
        let arena = Arena::new();
        let rendered = match self {
            Subject::Broken(err) => return Err(Failure::new(err, true)),
            Subject::Missing(_) => {
                return Err(Failure::new(&Error::new(typecase::ErrorKind::UnresolvedTool), true));
            }
            Subject::Templates(templates) => render_template(templates, body, options, read, &arena),
            Subject::KimiK3(format) => render_native(format, body, options, read, &arena),
        };
        rendered.map_err(|err| Failure::new(&err, false))
    }
}

fn render_template<'a, T>(
    templates: &ChatTemplates,
    body: &Body,
    options: &RenderOptions,
    read: impl FnOnce(&Prompt<'_>) -> T,
    arena: &'a Arena,
) -> typecase::Result<T> {
    match body {
        Body::Arguments(text) => {
            let value = json::parse_str(text, arena).unwrap_or(Value::None(Default::default()));
            let mut arguments: Arguments<'a> = exact::arguments(value);
            arguments.request_bytes = text.len();
            let template = templates.choose(Some(arguments.tools))?;
            let prompt = template.render_arguments(&arguments, value, arena, options)?;
            Ok(read(&prompt))
        }
        Body::Request(text) => {
            let mut bytes = text.clone().into_bytes();
            // The copy lives as long as its values do.
            let request = ChatRequest::parse(&mut bytes, arena);
            let request = match &request {
                Ok(request) => request,
                Err(err) => return Err(Error::new(err.kind().clone()).at(err.path().clone())),
            };
            let prompt = templates.choose(request.tools())?.render(request, options)?;
            Ok(read(&prompt))
        }
    }
}

fn render_native<T>(
    format: &KimiK3,
    body: &Body,
    options: &RenderOptions,
    read: impl FnOnce(&Prompt<'_>) -> T,
    arena: &Arena,
) -> typecase::Result<T> {
    let (text, validation) = match body {
        Body::Request(text) => (text.clone(), Validation::Strict),
        Body::Arguments(text) => (as_request(text), Validation::Shape),
    };
    let mut bytes = text.into_bytes();
    let parse = ParseOptions::default().validation(validation);
    let request = ChatRequest::parse_with(&mut bytes, arena, &parse)?;
    Ok(read(&format.render(&request, options)?))
}

/// Arguments as a request: `kwargs` has another name there.
pub(super) fn as_request(arguments: &str) -> String {
    let arena = Arena::new();
    let fields = json::parse_str(arguments, &arena)
        .ok()
        .and_then(|value| value.as_dict());
    let mut out = "{".to_owned();
    for (name, value) in fields.into_iter().flat_map(|fields| fields.str_entries()) {
        if out.len() > 1 {
            out.push_str(", ");
        }
        let name = match name.as_str() {
            "kwargs" => "chat_template_kwargs",
            name => name,
        };
        json::write_str(&mut out, name, false);
        out.push_str(": ");
        // What was read from JSON has a spelling in JSON.
        let _ = json::write(&mut out, &value, &WriteOptions::default());
    }
    out.push('}');
    out
}

impl Rendered {
    fn new(prompt: &Prompt<'_>, tokenizer: Option<&Tokenizer>) -> Self {
        let mut trusted: Vec<Range<usize>> = Vec::new();
        for (range, writer) in prompt.provenance().ranges() {
            match (writer, trusted.last_mut()) {
                (Writer::Request(_), _) => {}
                (_, Some(last)) if last.end == range.start => last.end = range.end,
                _ => trusted.push(range),
            }
        }
        let segment = |(text, special): (&str, SpecialTokens)| (text.to_owned(), special == SpecialTokens::All);
        Rendered {
            text: prompt.text().to_owned(),
            spans: exact::spans(prompt),
            segments: prompt.segment_texts().map(segment).collect(),
            trusted,
            media: prompt.media().len(),
            encoded: tokenizer.and_then(|tokenizer| Encoded::new(prompt, tokenizer)),
        }
    }

    /// How often `spelling` stands in the text with all of its bytes written by the format or trusted configuration.
    pub(super) fn trusted_count(&self, spelling: &str) -> usize {
        let trusted = |at: usize| {
            self.trusted
                .iter()
                .any(|range| range.start <= at && at + spelling.len() <= range.end)
        };
        self.text.match_indices(spelling).filter(|(at, _)| trusted(*at)).count()
    }
}
