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
use std::sync::atomic::{AtomicUsize, Ordering};

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
pub struct Template {
    compiled: Compiled,
    /// How much the last render wrote, in bytes and runs: what the next one makes room for.
    last_bytes: AtomicUsize,
    last_runs: AtomicUsize,
}

/// How a template is rendered, and how far it may go.
///
/// Work, memory and output are bounded by so much for any render, and so much more for each byte of JSON that was
/// [read into the arena](Arena::input_bytes): a large request may take more than a small one, and a hostile template
/// is stopped early on a small one. By default every known template runs on a request of 100 MB, and `"a" * 10**9` is
/// refused before it is made.
///
/// | option | default | what runs into it |
/// |---|---:|---|
/// | `max_work` | 100,000,000 | loops within loops, sorting or comparing much |
/// | `max_memory_bytes` | 256 MiB | `"a" * 10**9`, `10 ** 10 ** 9`, doubling a string in a loop |
/// | `max_output_bytes` | 256 MiB | printing a long string again and again |
/// | `growth_per_byte` | 64 | added to each of the three for each byte of input |
/// | `max_depth` | 200 | a macro that calls itself without end |
/// | `max_stack_bytes` | 1 MiB | the same with much on the way |
///
/// # Example
/// ```
/// use typecase_jinja::value::{Arena, json};
/// use typecase_jinja::{ErrorKind, Options, Template};
///
/// let template = Template::compile("{{ 'a' * n }}")?;
/// let mut options = Options::default().provenance(false);
/// options.max_memory_bytes = 1 << 20;
///
/// let arena = Arena::new();
/// let values = json::parse_str(r#"{"n": 3}"#, &arena)?;
/// assert_eq!(template.render(&values, &arena, &options)?.text, "aaa");
///
/// let values = json::parse_str(r#"{"n": 1000000000}"#, &arena)?;
/// let error = template.render(&values, &arena, &options).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Limit);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Whether [`Rendered::runs`] says where each byte came from. Default: on.
    pub provenance: bool,
    /// What `strftime_now` takes for now; without it, a template that asks for the time fails. Default: none.
    pub now: Option<LocalTime>,
    /// Units of work: about one for each node of the program that runs and for 16 bytes of text looked at. Default:
    /// 100,000,000.
    pub max_work: u64,
    /// Bytes of strings, lists and numbers that the template makes. Default: 256 MiB.
    pub max_memory_bytes: u64,
    /// Bytes of output, and of what is being put together before it is a value. Default: 256 MiB.
    pub max_output_bytes: usize,
    /// What each byte of input adds to the three bounds above; 0 makes them absolute. Default: 64, several times what
    /// the known templates need.
    pub growth_per_byte: u64,
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
            max_work: 100_000_000,
            max_memory_bytes: 256 << 20,
            max_output_bytes: 256 << 20,
            growth_per_byte: 64,
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

impl Rendered {
    /// Leaves its memory to the next render with `arena`.
    pub fn recycle(self, arena: &Arena) {
        arena.give_back(self.text);
        arena.give_back_runs(self.runs);
    }
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
        Ok(Template {
            compiled,
            last_bytes: AtomicUsize::new(0),
            last_runs: AtomicUsize::new(0),
        })
    }

    /// The source with `\n` for each newline and without the last one: what positions count in.
    pub fn source(&self) -> &str {
        &self.compiled.borrow_owner().text
    }

    /// What the template reads and writes.
    pub fn meta(&self) -> &Meta {
        &self.compiled.borrow_dependent().meta
    }

    /// Whether the byte at `origin` was written by the template's author.
    pub fn wrote(&self, origin: crate::value::Origin) -> bool {
        let owner = self.compiled.borrow_owner();
        let within = |text: &str| origin.0.wrapping_sub(text.as_ptr() as usize) < text.len();
        within(&owner.text) || owner.literals.get().is_some_and(|literals| within(literals))
    }

    /// Renders with the variables in `values`, a dict. New values are made in `arena`, whose
    /// [meter](Arena::meter) this sets.
    ///
    /// # Errors
    /// Whatever the template runs into, with its place: see [`ErrorKind`](crate::ErrorKind).
    pub fn render<'a>(&'a self, values: &Value<'a>, arena: &'a Arena, options: &'a Options) -> Result<Rendered> {
        let growth = options.growth_per_byte.saturating_mul(arena.input_bytes() as u64);
        arena.meter().set(
            options.max_work.saturating_add(growth),
            options.max_memory_bytes.saturating_add(growth),
        );
        let mut state = State::new(self.compiled.borrow_dependent(), *values, options, arena);
        state.out.max_bytes = options
            .max_output_bytes
            .saturating_add(usize::try_from(growth).unwrap_or(usize::MAX));
        // A conversation grows, so a little more than last time.
        let room = |last: &AtomicUsize| {
            let last = last.load(Ordering::Relaxed);
            last + last / 8 + 64
        };
        state.out.text = arena.spare_text(0);
        let is_lent = state.out.text.capacity() > 0;
        state.out.text.reserve(room(&self.last_bytes));
        if options.provenance {
            state.out.runs = arena.spare_runs(room(&self.last_runs));
        }
        match state.run() {
            Ok(()) => {}
            Err(error) => return Err(error.locate(self.source())),
        }
        let mut text = std::mem::take(&mut state.out.text);
        let mut runs = std::mem::take(&mut state.out.runs);
        self.last_bytes.store(text.len(), Ordering::Relaxed);
        if options.provenance {
            self.last_runs.store(runs.len(), Ordering::Relaxed);
        }
        if !is_lent && text.capacity() > 2 * text.len() + 4096 {
            text.shrink_to_fit();
            runs.shrink_to_fit();
        }
        Ok(Rendered {
            generation: generation_ranges(&text, &state.spans),
            runs,
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
