//! Why a template cannot be compiled, and where.

use super::ast::Span;
use std::fmt;

/// A template that is not one: what is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    kind: SyntaxErrorKind,
    span: Span,
    column: u32,
    excerpt: String,
    /// Characters of the excerpt before the place of the error.
    caret: usize,
}

/// What is wrong with a template. Unless said otherwise, Jinja2 raises `TemplateSyntaxError` for it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SyntaxErrorKind {
    /// A character that starts no token.
    UnexpectedChar(char),
    /// A name with a character that names cannot have there.
    InvalidIdentifier,
    /// A string with an escape that Python's `unicode-escape` codec does not take.
    InvalidEscape(EscapeError),
    /// A number that Python refuses to read.
    InvalidNumber(NumberError),
    /// A `{#` without its `#}`.
    UnclosedComment,
    /// A `{% raw %}` without its `{% endraw %}`.
    UnclosedRaw,
    /// A closing bracket where none is open.
    UnopenedBracket(char),
    /// A closing bracket that does not match the last opened one.
    MismatchedBracket {
        /// The bracket.
        found: char,
        /// The one that would have matched.
        expected: char,
    },
    /// A certain token had to come here.
    ExpectedToken {
        /// What had to come.
        expected: &'static str,
        /// What came.
        found: Box<str>,
    },
    /// The template ends where a certain token had to come.
    UnexpectedEnd {
        /// What had to come.
        expected: &'static str,
    },
    /// A token that starts no expression.
    UnexpectedToken(Box<str>),
    /// Nothing where an expression had to be.
    ExpectedExpression {
        /// What came instead.
        found: Box<str>,
    },
    /// A `{%` that no tag name follows.
    ExpectedTagName,
    /// A tag that does not exist, or not here.
    UnknownTag {
        /// Its name.
        name: Box<str>,
        /// What is open there.
        open: Open,
    },
    /// The template ends within a block.
    UnclosedBlock(Open),
    /// An assignment to something else than a variable or an attribute of a namespace.
    CannotAssign {
        /// What it is instead.
        found: &'static str,
    },
    /// `a is b is c`.
    ChainedTests,
    /// Arguments of a call in an order that is not allowed, or two of `*args` or `**kwargs`.
    InvalidArguments,
    /// A `.` that neither a name nor a number follows.
    ExpectedAttribute,
    /// A parameter without default after one with a default.
    MissingDefault,
    /// A call block of something that is not a call.
    ExpectedCall,
    /// A block name with a hyphen.
    HyphenInBlockName,
    /// A required block with content.
    RequiredBlockNotEmpty,
    /// An import of a name that begins with an underscore.
    PrivateImport,
    /// Two blocks of one name.
    DuplicateBlock {
        /// The name.
        name: Box<str>,
    },
    /// An assignment to `loop` by the loop that it belongs to.
    LoopAssigned,
    /// A parameter `caller` without a default, in a macro that uses `caller`.
    CallerWithoutDefault,
    /// Two parameters of one name (`SyntaxError` in Python).
    DuplicateParameter {
        /// The name.
        name: Box<str>,
    },
    /// Two keyword arguments of one name (`SyntaxError` in Python).
    DuplicateKeyword {
        /// The name.
        name: Box<str>,
    },
    /// Several keys of which one is a slice: `a[1:, 2]` (`SyntaxError` in Python).
    SliceInTuple,
    /// More loops in one another than Python has room for (`SyntaxError` there).
    TooManyLoops {
        /// The loops that are allowed.
        limit: usize,
    },
    /// `extends` inside of another statement.
    NestedExtends,
    /// `break` or `continue` outside of a loop, or in a macro, call block or `generation` block within it (`SyntaxError`
    /// in Python).
    OutsideLoop {
        /// The statement.
        tag: &'static str,
    },
    /// Deeper nesting than a template may have (`RecursionError` or `SyntaxError` in Python).
    TooDeep {
        /// The levels that are allowed.
        limit: usize,
    },
    /// A source of more bytes than are allowed.
    TooLong {
        /// The bytes that are allowed.
        limit: usize,
    },
}

/// What is wrong with an escape in a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EscapeError {
    /// `\x` without two hexadecimal digits.
    TruncatedX,
    /// `\u` without four hexadecimal digits.
    TruncatedU,
    /// `\U` without eight hexadecimal digits.
    TruncatedLongU,
    /// A code point above U+10FFFF.
    OutOfRange,
    /// `\N` without `{name}`.
    MalformedName,
    /// `\N{name}` with a name that no character has.
    UnknownName,
    /// Half of a surrogate pair. Python takes it but can never write it as UTF-8.
    Surrogate,
}

/// What is wrong with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NumberError {
    /// A float with digits that are not ASCII, which only integers may have (`SyntaxError` in Python).
    Digits,
    /// A decimal integer of more than 4300 digits (`ValueError` in Python).
    TooLong,
}

impl NumberError {
    fn exception(self) -> &'static str {
        match self {
            Self::Digits => "SyntaxError",
            Self::TooLong => "ValueError",
        }
    }
}

/// Which blocks are open where an error was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Open {
    /// The tags that would go on or end the innermost open block; none if no block is open.
    pub expected: &'static [&'static str],
    /// The innermost open block: its tag and its line.
    pub innermost: Option<(Box<str>, u32)>,
    /// Whether the tag that was found belongs to a block further out.
    pub misplaced: bool,
}

impl SyntaxError {
    /// An error at `span` of the normalised source `source`.
    pub(crate) fn new(kind: SyntaxErrorKind, span: Span, source: &str) -> Self {
        const BEFORE: usize = 60;
        const AFTER: usize = 40;
        let offset = source.floor_char_boundary(span.offset as usize);
        let (before, after) = source.split_at(offset);
        let before = before.rsplit('\n').next().unwrap_or(before);
        let after = after.split('\n').next().unwrap_or(after);
        let column = before.chars().count();
        let cut = column.saturating_sub(BEFORE);
        let mut excerpt = String::new();
        if cut > 0 {
            excerpt.push_str("...");
        }
        excerpt.extend(before.chars().skip(cut));
        let caret = excerpt.chars().count();
        excerpt.extend(after.chars().take(AFTER));
        if after.chars().nth(AFTER).is_some() {
            excerpt.push_str("...");
        }
        // A tab or a control character is one column here, so that the caret stands below its place.
        let excerpt = excerpt.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        SyntaxError(Box::new(Inner {
            kind,
            span,
            column: u32::try_from(column + 1).unwrap_or(u32::MAX),
            excerpt,
            caret,
        }))
    }

    /// What is wrong.
    pub fn kind(&self) -> &SyntaxErrorKind {
        &self.0.kind
    }

    /// The line, counted from 1.
    pub fn line(&self) -> u32 {
        self.0.span.line
    }

    /// The column, in characters counted from 1.
    pub fn column(&self) -> u32 {
        self.0.column
    }

    /// The place in the normalised source.
    pub fn span(&self) -> Span {
        self.0.span
    }

    /// The source around the place, and a caret below the place: two lines.
    pub fn excerpt(&self) -> String {
        let indent = " ".repeat(self.0.caret);
        format!("{}\n{indent}^", self.0.excerpt)
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { kind, span, column, .. } = &*self.0;
        writeln!(f, "line {}, column {column}: {kind}", span.line)?;
        f.write_str(&self.excerpt())
    }
}

impl std::error::Error for SyntaxError {}

impl SyntaxErrorKind {
    /// The type of the exception that Python raises. Where several stop it, the one for the plainest template.
    pub fn exception(&self) -> &'static str {
        match self {
            Self::InvalidNumber(error) => error.exception(),
            Self::PrivateImport
            | Self::DuplicateBlock { .. }
            | Self::LoopAssigned
            | Self::CallerWithoutDefault
            | Self::NestedExtends => "TemplateAssertionError",
            Self::DuplicateParameter { .. }
            | Self::DuplicateKeyword { .. }
            | Self::SliceInTuple
            | Self::TooManyLoops { .. }
            | Self::OutsideLoop { .. } => "SyntaxError",
            Self::TooDeep { .. } => "RecursionError",
            _ => "TemplateSyntaxError",
        }
    }
}

impl fmt::Display for SyntaxErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnexpectedChar(c) => write!(f, "unexpected char {c:?}"),
            Self::InvalidIdentifier => f.write_str("invalid character in identifier"),
            Self::InvalidEscape(error) => error.fmt(f),
            Self::InvalidNumber(error) => error.fmt(f),
            Self::UnclosedComment => f.write_str("missing end of comment tag"),
            Self::UnclosedRaw => f.write_str("missing end of raw directive"),
            Self::UnopenedBracket(found) => write!(f, "unexpected '{found}'"),
            Self::MismatchedBracket { found, expected } => write!(f, "unexpected '{found}', expected '{expected}'"),
            Self::ExpectedToken { expected, found } => write!(f, "expected token '{expected}', got '{}'", short(found)),
            Self::UnexpectedEnd { expected } => write!(f, "unexpected end of template, expected '{expected}'"),
            Self::UnexpectedToken(found) => write!(f, "unexpected '{}'", short(found)),
            Self::ExpectedExpression { found } => write!(f, "expected an expression, got '{}'", short(found)),
            Self::ExpectedTagName => f.write_str("tag name expected"),
            Self::UnknownTag { name, open } => {
                write!(f, "encountered unknown tag '{}'", short(name))?;
                open.fmt(f)
            }
            Self::UnclosedBlock(open) => {
                f.write_str("unexpected end of template")?;
                open.fmt(f)
            }
            Self::CannotAssign { found } => write!(f, "can't assign to '{found}'"),
            Self::ChainedTests => f.write_str("tests cannot be chained with 'is'"),
            Self::InvalidArguments => f.write_str("invalid syntax for function call expression"),
            Self::ExpectedAttribute => f.write_str("expected name or number"),
            Self::MissingDefault => f.write_str("non-default argument follows default argument"),
            Self::ExpectedCall => f.write_str("expected call"),
            Self::HyphenInBlockName => f.write_str(
                "block names have to be valid Python identifiers and may not contain hyphens, use an underscore instead",
            ),
            Self::RequiredBlockNotEmpty => f.write_str("required blocks can only contain comments or whitespace"),
            Self::PrivateImport => f.write_str("names starting with an underline can not be imported"),
            Self::DuplicateBlock { name } => write!(f, "block '{}' defined twice", short(name)),
            Self::LoopAssigned => f.write_str("can't assign to special loop variable in for-loop target"),
            Self::CallerWithoutDefault => f.write_str(
                "when defining macros or call blocks the special 'caller' argument must be omitted or be given a default",
            ),
            Self::DuplicateParameter { name } => write!(f, "duplicate parameter '{}'", short(name)),
            Self::DuplicateKeyword { name } => write!(f, "keyword argument '{}' repeated", short(name)),
            Self::SliceInTuple => f.write_str("a slice cannot be one of several keys"),
            Self::TooManyLoops { limit } => write!(f, "more than {limit} loops in one another"),
            Self::NestedExtends => f.write_str("cannot use extend from a non top-level scope"),
            Self::OutsideLoop { tag } => write!(f, "'{tag}' outside loop"),
            Self::TooDeep { limit } => write!(f, "nested deeper than {limit} levels"),
            Self::TooLong { limit } => write!(f, "template of more than {limit} bytes"),
        }
    }
}

impl fmt::Display for NumberError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Digits => "invalid character in a number",
            Self::TooLong => "integer of more than 4300 digits",
        })
    }
}

impl fmt::Display for EscapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TruncatedX => r"truncated \xXX escape",
            Self::TruncatedU => r"truncated \uXXXX escape",
            Self::TruncatedLongU => r"truncated \UXXXXXXXX escape",
            Self::OutOfRange => "illegal Unicode character",
            Self::MalformedName => r"malformed \N character escape",
            Self::UnknownName => "unknown Unicode character name",
            Self::Surrogate => "escape of half a surrogate pair, which no text can hold",
        })
    }
}

impl fmt::Display for Open {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.misplaced {
            f.write_str("; it is expected, but not before ")?;
        } else if !self.expected.is_empty() {
            f.write_str("; looking for ")?;
        }
        for (index, tag) in self.expected.iter().enumerate() {
            let or = if index == 0 { "" } else { " or " };
            write!(f, "{or}'{tag}'")?;
        }
        if let Some((tag, line)) = &self.innermost {
            write!(
                f,
                "; the innermost block that needs to be closed is '{tag}' of line {line}"
            )?;
        }
        Ok(())
    }
}

/// The first 40 characters of a name.
fn short(name: &str) -> String {
    let mut short: String = name.chars().take(40).collect();
    if short.len() < name.len() {
        short.push_str("...");
    }
    short
}
