//! Tokens, and how errors name them.

use super::ast::Const;

/// What the lexer hands to the parser. White space, comments and the borders of raw blocks are gone.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token<'s> {
    /// Text outside of tags; never empty.
    Data(&'s str),
    /// `{{`
    VariableBegin,
    /// `}}`
    VariableEnd,
    /// `{%`
    BlockBegin,
    /// `%}`
    BlockEnd,
    /// A name or a keyword: the parser tells which, by place.
    Name(&'s str),
    /// A number or a string.
    Literal(Const<'s>),
    /// An operator or a bracket.
    Op(Op),
    /// The end of the template.
    Eof,
}

impl Token<'_> {
    /// How Jinja's errors name the token (`describe_token`).
    pub(super) fn describe(&self) -> &str {
        match self {
            Self::Data(_) => "template data / text",
            Self::VariableBegin => "begin of print statement",
            Self::VariableEnd => "end of print statement",
            Self::BlockBegin => "begin of statement block",
            Self::BlockEnd => "end of statement block",
            Self::Name(name) => name,
            Self::Literal(Const::Str(_)) => "string",
            Self::Literal(Const::Float(_)) => "float",
            Self::Literal(_) => "integer",
            Self::Op(op) => op.as_str(),
            Self::Eof => "end of template",
        }
    }
}

macro_rules! operators {
    ($($name:ident $text:literal,)*) => {
        /// Operators and brackets.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Op { $($name,)* }

        impl Op {
            /// The operator that `text` begins with; of those that fit, the longest.
            pub(super) fn at_start_of(text: &str) -> Option<Op> {
                // The table has the longer operators first.
                $(if text.starts_with($text) { return Some(Op::$name); })*
                None
            }

            /// Its spelling.
            pub(super) const fn as_str(self) -> &'static str {
                match self { $(Op::$name => $text,)* }
            }
        }
    };
}

operators! {
    Pow "**",
    FloorDiv "//",
    Eq "==",
    Ne "!=",
    Ge ">=",
    Le "<=",
    Add "+",
    Sub "-",
    Div "/",
    Mul "*",
    Mod "%",
    Tilde "~",
    LBracket "[",
    RBracket "]",
    LParen "(",
    RParen ")",
    LBrace "{",
    RBrace "}",
    Gt ">",
    Lt "<",
    Assign "=",
    Dot ".",
    Colon ":",
    Pipe "|",
    Comma ",",
    Semicolon ";",
}
