//! Who wrote a byte of the output.

use crate::Template;
use crate::value::Origin;
use std::ops::Range;

/// Who wrote a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Author {
    /// The template: its text or one of its string literals.
    Template,
    /// Nobody in particular: digits of a number, brackets of JSON, the spelling of `None`.
    Computed,
    /// A value of the render that the caller [trusts](Authors::trust), such as `bos_token`.
    Trusted,
    /// Any other value of the render: the request.
    Values,
}

/// Tells the authors of a render apart by where their bytes are in memory.
///
/// # Example
/// ```
/// use typecase_jinja::value::{Arena, json};
/// use typecase_jinja::{Author, Authors, Options, Template};
///
/// let template = Template::compile("<|user|>{{ content | upper }}")?;
/// let arena = Arena::new();
/// let values = json::parse_str(r#"{"content": "hi"}"#, &arena)?;
/// let rendered = template.render(&values, &arena, &Options::default())?;
/// let authors = Authors::of(&template);
/// let who: Vec<_> = rendered.runs.iter().map(|run| (run.end, authors.author(run.origin))).collect();
/// assert_eq!(who, [(8, Author::Template), (10, Author::Values)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Authors<'t> {
    template: &'t Template,
    trusted: Vec<Range<usize>>,
}

impl<'t> Authors<'t> {
    /// The authors of renders of `template`.
    pub fn of(template: &'t Template) -> Self {
        Authors {
            template,
            trusted: Vec::new(),
        }
    }

    /// Trusts the bytes of `text`, which a value of the render is a slice of.
    #[must_use]
    pub fn trust(mut self, text: &str) -> Self {
        let start = text.as_ptr() as usize;
        self.trusted.push(start..start + text.len());
        self
    }

    /// Who wrote the byte that came from `origin`.
    pub fn author(&self, origin: Origin) -> Author {
        if origin == Origin::COMPUTED {
            Author::Computed
        } else if self.template.wrote(origin) {
            Author::Template
        } else if self.trusted.iter().any(|range| range.contains(&origin.0)) {
            Author::Trusted
        } else {
            Author::Values
        }
    }
}
