//! Where in a request something stands: `messages[3].content[1].text`.

use std::fmt;

/// One step of a [`Path`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// The value of a key.
    Key(String),
    /// The item at an index, counted from 0.
    Index(usize),
}

impl From<&str> for Step {
    fn from(key: &str) -> Self {
        Step::Key(key.to_owned())
    }
}

impl From<String> for Step {
    fn from(key: String) -> Self {
        Step::Key(key)
    }
}

impl From<usize> for Step {
    fn from(index: usize) -> Self {
        Step::Index(index)
    }
}

/// A place in a request, from the outside in. The empty path is the request itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Path {
    /// Innermost step first: errors are built from the inside out.
    steps: Vec<Step>,
}

/// Steps beyond this many are not printed, and keys are cut at this many characters: both come from the request.
const MAX_STEPS_SHOWN: usize = 16;
const MAX_KEY_SHOWN: usize = 64;

impl Path {
    /// The request itself.
    pub const fn root() -> Self {
        Path { steps: Vec::new() }
    }

    /// Adds the step that leads to this path.
    #[must_use]
    pub fn within(mut self, step: impl Into<Step>) -> Self {
        self.steps.push(step.into());
        self
    }

    /// The steps from the outside in.
    pub fn steps(&self) -> impl ExactSizeIterator<Item = &Step> {
        self.steps.iter().rev()
    }

    /// Whether this is the request itself.
    pub fn is_root(&self) -> bool {
        self.steps.is_empty()
    }

    /// Adds a step at the inner end.
    pub fn push(&mut self, step: impl Into<Step>) {
        self.steps.insert(0, step.into());
    }
}

impl<S: Into<Step>> FromIterator<S> for Path {
    /// From the outside in.
    fn from_iter<I: IntoIterator<Item = S>>(steps: I) -> Self {
        let mut steps: Vec<Step> = steps.into_iter().map(Into::into).collect();
        steps.reverse();
        Path { steps }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, step) in self.steps().enumerate() {
            if i == MAX_STEPS_SHOWN {
                return f.write_str("...");
            }
            match step {
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Key(key) => {
                    let plain = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || "_-$".contains(c));
                    let shown: String = key.chars().take(MAX_KEY_SHOWN).collect();
                    match (plain, i) {
                        (true, 0) => f.write_str(&shown)?,
                        (true, _) => write!(f, ".{shown}")?,
                        (false, _) => write!(f, "[{shown:?}]")?,
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_as_a_client_would_write_it() {
        let path = Path::root()
            .within("text")
            .within(1)
            .within("content")
            .within(3)
            .within("messages");
        assert_eq!(path.to_string(), "messages[3].content[1].text");
        assert_eq!(Path::root().within("a b").within("tools").to_string(), "tools[\"a b\"]");
    }
}
