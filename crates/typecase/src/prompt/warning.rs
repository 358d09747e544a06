//! What a client should know about a prompt that was rendered all the same.

use std::fmt;
use typecase_jinja::value::Path;

/// Something in the request that the format could not take as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Where in the request.
    pub path: Path,
    /// What was done.
    pub kind: WarningKind,
}

/// What was done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WarningKind {
    /// Tool arguments that are no JSON were written as they are.
    ArgumentsVerbatim,
    /// A tool result belongs to no call of the last assistant message, so the results stay in the order they came in.
    ResultsUnordered,
    /// A keyword argument that no request may give, such as `bos_token` or `messages`, was passed over.
    KeywordPassedOver,
    /// A keyword argument changes nothing: neither the format nor the template reads one of this name.
    KeywordNotRead,
    /// Where in the prompt a media item is, if it is there at all, is not known: no family of media models is known for the
    /// model.
    MediaNotPlaced,
}

impl Warning {
    /// One about a keyword argument for the template.
    pub(crate) fn of_keyword(name: &str, kind: WarningKind) -> Self {
        Warning {
            path: Path::root().within(name).within("chat_template_kwargs"),
            kind,
        }
    }
}

impl WarningKind {
    /// The kind in `snake_case`, as JSON output names it.
    pub fn code(self) -> &'static str {
        match self {
            WarningKind::ArgumentsVerbatim => "arguments_verbatim",
            WarningKind::ResultsUnordered => "results_unordered",
            WarningKind::KeywordPassedOver => "keyword_passed_over",
            WarningKind::KeywordNotRead => "keyword_not_read",
            WarningKind::MediaNotPlaced => "media_not_placed",
        }
    }
}

impl fmt::Display for WarningKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            WarningKind::ArgumentsVerbatim => "the tool arguments are no JSON and were written as they are",
            WarningKind::ResultsUnordered => {
                "the result belongs to no call, so the tool results stay in the order they came in"
            }
            WarningKind::KeywordNotRead => "the model's prompt format reads no argument of this name",
            WarningKind::MediaNotPlaced => {
                "how the model takes media is not known, so nobody knows where this is in the prompt"
            }
            WarningKind::KeywordPassedOver => "no request may set this for a chat template, and it was passed over",
        })
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.kind)
    }
}
