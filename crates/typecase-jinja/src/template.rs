//! Templates, and what rendering one gives.

use crate::builtins::strftime::LocalTime;
use crate::compile::meta::Meta;
use crate::compile::program::Program;
use crate::compile::{self, Source};
use crate::error::Result;
use crate::value::{Arena, Run, Value};
use crate::vm::{GenerationSpan, SpanEnd, State};
use std::ops::Range;
use std::sync::OnceLock;

self_cell::self_cell!(
    struct Compiled {
        owner: Source,
        #[covariant]
        dependent: Program,
    }

    impl {Debug}
);

/// A compiled template. Threads may share it; rendering does not change it.
///
/// # Example
/// ```
/// use typecase_jinja::value::{Arena, json};
/// use typecase_jinja::{Options, Template};
///
/// let template = Template::compile("{% for m in messages %}<|{{ m.role }}|>{{ m.content }}\n{% endfor %}")?;
/// let arena = Arena::new();
/// let values = json::parse_str(r#"{"messages": [{"role": "user", "content": "Hi"}]}"#, &arena)?;
/// let rendered = template.render(&values, &arena, &Options::default())?;
/// assert_eq!(rendered.text, "<|user|>Hi\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Template(Compiled);

/// How a template is rendered, and how far it may go. The defaults let every template that is known run on a request of
/// 100 MB.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Whether [`Rendered::runs`] says where each byte came from. Default: on.
    pub provenance: bool,
    /// What `strftime_now` takes for now; without it, a template that asks for the time fails. Default: none.
    pub now: Option<LocalTime>,
    /// Units of work: about one for each node of the program that runs and for 16 bytes of text looked at. Default:
    /// 2,000,000,000.
    pub max_work: u64,
    /// Bytes of strings, lists and numbers that the template makes. Default: 2 GiB.
    pub max_memory_bytes: u64,
    /// Bytes of output, and of what is being put together before it is a value. Default: 1 GiB.
    pub max_output_bytes: usize,
    /// Calls of macros in one another. Default: 200, about where Python gives up as well.
    pub max_depth: u32,
    /// Bytes of the thread's stack that may be used. Default: 1 MiB, as threads have at least 2.
    pub max_stack_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            provenance: true,
            now: None,
            max_work: 2_000_000_000,
            max_memory_bytes: 2 << 30,
            max_output_bytes: 1 << 30,
            max_depth: 200,
            max_stack_bytes: 1 << 20,
        }
    }
}

impl Options {
    /// Sets whether [`Rendered::runs`] is filled.
    #[must_use]
    pub fn provenance(mut self, provenance: bool) -> Self {
        self.provenance = provenance;
        self
    }

    /// Sets what `strftime_now` takes for now.
    #[must_use]
    pub fn now(mut self, now: LocalTime) -> Self {
        self.now = Some(now);
        self
    }
}

/// What a template wrote.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Rendered {
    /// The text.
    pub text: String,
    /// Where its bytes came from, without gaps; empty unless [`Options::provenance`] is set.
    pub runs: Vec<Run>,
    /// The `{% generation %}` blocks, in bytes of `text`, in the order in which they ended.
    pub generation: Vec<Range<usize>>,
}

impl Template {
    /// Compiles `source`.
    ///
    /// # Errors
    /// [`ErrorKind::Syntax`](crate::ErrorKind::Syntax) for what Jinja does not compile.
    pub fn compile(source: &str) -> Result<Self> {
        let source = Source {
            text: crate::syntax::normalize(source).into_owned(),
            literals: OnceLock::new(),
        };
        let compiled = Compiled::try_new_or_recover(source, compile::compile)
            .map_err(|(source, error)| error.locate(&source.text))?;
        Ok(Template(compiled))
    }

    /// The source with `\n` for each newline and without the last one: what positions count in.
    pub fn source(&self) -> &str {
        &self.0.borrow_owner().text
    }

    /// What the template reads and writes.
    pub fn meta(&self) -> &Meta {
        &self.0.borrow_dependent().meta
    }

    /// Whether the byte at `origin` was written by the template's author.
    pub fn wrote(&self, origin: crate::value::Origin) -> bool {
        let owner = self.0.borrow_owner();
        let within = |text: &str| origin.0.wrapping_sub(text.as_ptr() as usize) < text.len();
        within(&owner.text) || owner.literals.get().is_some_and(|literals| within(literals))
    }

    /// Renders with the variables in `values`, a dict. New values are made in `arena`, whose
    /// [meter](Arena::meter) this sets.
    ///
    /// # Errors
    /// Whatever the template runs into, with its place: see [`ErrorKind`](crate::ErrorKind).
    pub fn render<'a>(&'a self, values: &Value<'a>, arena: &'a Arena, options: &'a Options) -> Result<Rendered> {
        arena.meter().set(options.max_work, options.max_memory_bytes);
        let mut state = State::new(self.0.borrow_dependent(), *values, options, arena);
        match state.run() {
            Ok(()) => {}
            Err(error) => return Err(error.locate(self.source())),
        }
        let text = std::mem::take(&mut state.out.text);
        let generation = generation_ranges(&text, &state.spans);
        Ok(Rendered {
            generation,
            runs: std::mem::take(&mut state.out.runs),
            text,
        })
    }
}

fn generation_ranges(text: &str, spans: &[GenerationSpan]) -> Vec<Range<usize>> {
    spans
        .iter()
        .map(|span| match span.end {
            SpanEnd::At(end) => span.start..end,
            SpanEnd::After(chars) => {
                let rest = text.get(span.start..).unwrap_or_default();
                let len = rest.char_indices().nth(chars).map_or(rest.len(), |(at, _)| at);
                span.start..span.start + len
            }
        })
        .collect()
}

const _: () = {
    const fn shareable<T: Send + Sync>() {}
    shareable::<Template>();
};
