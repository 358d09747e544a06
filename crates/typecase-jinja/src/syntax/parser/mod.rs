//! Tokens to tree: `jinja2/parser.py` by recursive descent, with bounded depth.
//!
//! As there, almost nothing is a reserved word: what a name means is told by its place, so `{{ 1 + not }}` adds a
//! variable called `not`.

mod expression;
mod statement;

use super::ast::{Expr, ExprKind, Span, Template};
use super::error::{Open, SyntaxError, SyntaxErrorKind};
use super::lexer::Lexer;
use super::token::{Op, Token};

/// Levels of brackets in one expression. Python's recursion limit stops Jinja between 60 and 80.
pub(super) const MAX_NESTING: usize = 100;

/// Operations that wait for their right operand. In Python each costs a bracket in the code that Jinja generates, of which
/// there may be 200, or a bracket of the template's.
pub(super) const MAX_WAITING: usize = 300;

/// Levels of statements in one another. Python stops at 100 levels of indentation in the code that Jinja generates, and
/// at 250 where a statement needs none.
pub(super) const MAX_STATEMENT_NESTING: usize = 128;

/// Height of an expression's tree, which chains such as `a + b + c` add to without being nested. Python stops at 200
/// brackets in the code that Jinja generates; up to 490 constants can be added.
pub(super) const MAX_HEIGHT: usize = 500;

type Result<T, E = SyntaxError> = std::result::Result<T, E>;

/// Parses the normalised source `source`.
pub(super) fn parse(source: &str) -> Result<Template<'_>> {
    let mut parser = Parser::new(source)?;
    let body = parser.parse_body(None)?;
    Ok(Template { body })
}

#[derive(Debug)]
struct Parser<'s> {
    source: &'s str,
    lexer: Lexer<'s>,
    /// The token that is looked at, and where it begins.
    token: Token<'s>,
    span: Span,
    /// The one after, if it was looked at already.
    ahead: Option<(Token<'s>, Span)>,
    /// The statements that are open: tag and place.
    tags: Vec<(&'s str, Span)>,
    /// The tags that end each of the open blocks.
    end_tags: Vec<&'static [&'static str]>,
    /// Open brackets of the expression.
    nesting: usize,
    /// Operations of the expression that wait for an operand.
    waiting: usize,
}

impl<'s> Parser<'s> {
    fn new(source: &'s str) -> Result<Self> {
        let mut lexer = Lexer::new(source);
        let (token, span) = lexer.next()?;
        Ok(Parser {
            source,
            lexer,
            token,
            span,
            ahead: None,
            tags: Vec::new(),
            end_tags: Vec::new(),
            nesting: 0,
            waiting: 0,
        })
    }

    /// Goes one token ahead and gives the place of the one left behind.
    fn advance(&mut self) -> Result<Span> {
        let span = self.span;
        (self.token, self.span) = match self.ahead.take() {
            Some(ahead) => ahead,
            None => self.read()?,
        };
        Ok(span)
    }

    /// Reads a token. The end of the template is on the line of the last token, as in Jinja.
    fn read(&mut self) -> Result<(Token<'s>, Span)> {
        let (token, span) = self.lexer.next()?;
        let is_below = token == Token::Eof && span.line != self.span.line;
        let span = if is_below { self.span } else { span };
        Ok((token, span))
    }

    /// The token after this one.
    fn look(&mut self) -> Result<&Token<'s>> {
        if self.ahead.is_none() {
            self.ahead = Some(self.read()?);
        }
        Ok(self.ahead.as_ref().map_or(&Token::Eof, |(token, _)| token))
    }

    fn at_op(&self, op: Op) -> bool {
        self.token == Token::Op(op)
    }

    fn at_name(&self, name: &str) -> bool {
        matches!(self.token, Token::Name(found) if found == name)
    }

    fn skip_op(&mut self, op: Op) -> Result<bool> {
        let found = self.at_op(op);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn skip_name(&mut self, name: &str) -> Result<bool> {
        let found = self.at_name(name);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn expect_op(&mut self, op: Op) -> Result<Span> {
        if self.at_op(op) {
            return self.advance();
        }
        self.fail_expected(op.as_str())
    }

    fn expect_name(&mut self, name: &'static str) -> Result<Span> {
        if self.at_name(name) {
            return self.advance();
        }
        self.fail_expected(name)
    }

    fn expect_any_name(&mut self) -> Result<(&'s str, Span)> {
        if let Token::Name(name) = self.token {
            return Ok((name, self.advance()?));
        }
        self.fail_expected("name")
    }

    fn expect_block_end(&mut self) -> Result<()> {
        if self.token == Token::BlockEnd {
            self.advance()?;
            return Ok(());
        }
        self.fail_expected("end of statement block")
    }

    fn fail<T>(&self, kind: SyntaxErrorKind, span: Span) -> Result<T> {
        Err(SyntaxError::new(kind, span, self.source))
    }

    fn fail_expected<T>(&self, expected: &'static str) -> Result<T> {
        let kind = match &self.token {
            Token::Eof => SyntaxErrorKind::UnexpectedEnd { expected },
            token => SyntaxErrorKind::ExpectedToken {
                expected,
                found: token.describe().into(),
            },
        };
        self.fail(kind, self.span)
    }

    /// What is open here; `found` is the tag that was found, if any.
    fn open(&self, found: Option<&str>) -> Open {
        Open {
            expected: self.end_tags.last().copied().unwrap_or_default(),
            innermost: self.tags.last().map(|&(tag, span)| (tag.into(), span.line)),
            misplaced: found.is_some_and(|found| self.end_tags.iter().any(|tags| tags.contains(&found))),
        }
    }

    /// An expression one level above those in it.
    fn expr(&self, span: Span, kind: ExprKind<'s>) -> Result<Expr<'s>> {
        let mut height = 1;
        kind.for_each_child(&mut |child| height = height.max(child.height.saturating_add(1)));
        if usize::from(height) > MAX_HEIGHT {
            return self.fail(SyntaxErrorKind::TooDeep { limit: MAX_HEIGHT }, span);
        }
        Ok(Expr { span, height, kind })
    }
}
