//! What people see: the prompt with its writers told apart by colour, the media, the ids.

use crate::control_text::Spellings;
use crate::output::{path, placeholder_token};
use crate::renderer::{Done, Renderer};
use anstyle::{AnsiColor, Style};
use std::io::{self, Write};
use std::ops::Range;
use typecase::prompt::{Prompt, SpecialTokens, Writer};
use typecase::tokenizer::Trust;

/// Control tokens.
pub(crate) const CONTROL: Style = AnsiColor::Cyan.on_default().bold();
/// Placeholders of media.
const PLACEHOLDER: Style = Style::new()
    .fg_color(Some(anstyle::Color::Ansi(AnsiColor::Black)))
    .bg_color(Some(anstyle::Color::Ansi(AnsiColor::Yellow)))
    .bold();
/// Text that the format or the template wrote.
pub(crate) const FORMAT: Style = AnsiColor::Green.on_default();
/// Text that the request brought.
pub(crate) const REQUEST: Style = Style::new();
/// Text of the request that is spelled like a control token and is none.
const LOOKALIKE: Style = AnsiColor::Magenta.on_default().underline();
/// What is said about the prompt.
pub(crate) const NOTE: Style = Style::new().dimmed();

/// How a run of bytes is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Control,
    Placeholder,
    Format,
    Request,
    Lookalike,
}

impl Kind {
    fn style(self) -> Style {
        match self {
            Kind::Control => CONTROL,
            Kind::Placeholder => PLACEHOLDER,
            Kind::Format => FORMAT,
            Kind::Request => REQUEST,
            Kind::Lookalike => LOOKALIKE,
        }
    }
}

pub(crate) fn print(out: &mut impl Write, done: &Done<'_>, renderer: &Renderer) -> io::Result<()> {
    let prompt = &done.prompt;
    let spelled = Spelled::in_prompt(prompt, renderer);
    write_prompt(out, prompt, &spelled)?;
    let segments = prompt.segments().len();
    let all = |segment: &&typecase::prompt::Segment| segment.special_tokens == SpecialTokens::All;
    let control = prompt.segments().iter().filter(all).count() + spelled.control.len();
    let author = if prompt
        .segments()
        .iter()
        .any(|s| s.special_tokens == SpecialTokens::Trusted)
    {
        "template"
    } else {
        "format"
    };
    write!(
        out,
        "{NOTE}{}: {} bytes in {segments} segments ({CONTROL}control{CONTROL:#}{NOTE} {control}; \
         {FORMAT}text of the {author}{FORMAT:#}{NOTE}; text of the request; ",
        done.format,
        prompt.len(),
    )?;
    if !spelled.lookalikes.is_empty() {
        let n = spelled.lookalikes.len();
        write!(out, "{LOOKALIKE}spelled like control{LOOKALIKE:#}{NOTE} {n}; ")?;
    }
    writeln!(
        out,
        "{PLACEHOLDER}placeholders{PLACEHOLDER:#}{NOTE} {}){NOTE:#}",
        prompt.media().len()
    )?;
    for item in prompt.media().items() {
        let token = done.tokens.as_ref().and_then(|tokens| placeholder_token(item, tokens));
        let token = token.map_or("no single token".to_owned(), |at| format!("token {at}"));
        writeln!(
            out,
            "{NOTE}{} of {}: {token}{NOTE:#}",
            item.modality.as_str(),
            path(item)
        )?;
    }
    let Some(tokens) = &done.tokens else {
        return writeln!(out, "{NOTE}no token ids without --model{NOTE:#}");
    };
    let ids: Vec<String> = tokens.ids().iter().map(u32::to_string).collect();
    writeln!(out, "{NOTE}{} token ids:{NOTE:#}", ids.len())?;
    writeln!(out, "{}", ids.join(" "))
}

/// What text spells like control tokens, outside control segments.
struct Spelled {
    /// Those that are control tokens, or would be with a vocabulary.
    control: Vec<Range<usize>>,
    /// Those that the request wrote any byte of.
    lookalikes: Vec<Range<usize>>,
}

impl Spelled {
    fn in_prompt(prompt: &Prompt<'_>, renderer: &Renderer) -> Self {
        let tokenizer = renderer.model().map(|model| model.tokenizer());
        let added = tokenizer
            .into_iter()
            .flat_map(|tokenizer| tokenizer.added_tokens().iter());
        // Added tokens that are not special are mostly words and runs of spaces, but a few are tags of templates.
        let added = added.filter(|token| token.special || token.content.starts_with('<'));
        let named = renderer.named_tokens().iter().map(String::as_str);
        let known = added.map(|token| token.content.as_str()).chain(named);
        let spellings = Spellings::new(known, tokenizer.is_none());
        let mut spelled = Spelled {
            control: Vec::new(),
            lookalikes: Vec::new(),
        };
        let runs: Vec<(Range<usize>, Writer)> = prompt.provenance().ranges().collect();
        let mut start = 0;
        for (text, policy) in prompt.segment_texts() {
            if policy != SpecialTokens::All {
                for found in spellings.find(text) {
                    let found = start + found.start..start + found.end;
                    let first = runs.partition_point(|(run, _)| run.end <= found.start);
                    let mut touched = runs[first..].iter().take_while(|(run, _)| run.start < found.end);
                    let request = touched.any(|(_, writer)| matches!(writer, Writer::Request(_)));
                    let counts = policy == SpecialTokens::Trusted && (!request || renderer.trust() == Trust::Compat);
                    if counts {
                        spelled.control.push(found);
                    } else if request {
                        spelled.lookalikes.push(found);
                    }
                }
            }
            start += text.len();
        }
        spelled
    }

    /// What the byte at `at` is spelled as, and until where that holds.
    fn at(&self, at: usize) -> (Option<Kind>, usize) {
        let mut border = usize::MAX;
        for (ranges, kind) in [(&self.control, Kind::Control), (&self.lookalikes, Kind::Lookalike)] {
            let next = ranges.partition_point(|range| range.end <= at);
            match ranges.get(next) {
                Some(range) if range.start <= at => return (Some(kind), range.end),
                Some(range) => border = border.min(range.start),
                None => {}
            }
        }
        (None, border)
    }
}

/// The prompt as it is, with each run of bytes in the colour of its writer.
fn write_prompt(out: &mut impl Write, prompt: &Prompt<'_>, spelled: &Spelled) -> io::Result<()> {
    let mut media = prompt.media().items().iter().map(|item| &item.placeholder).peekable();
    let mut runs = prompt.provenance().ranges().peekable();
    let mut start = 0;
    for segment in prompt.segments() {
        while start < segment.end {
            // A piece is what one writer wrote within one segment, or a spelling.
            while runs.peek().is_some_and(|(run, _)| run.end <= start) {
                runs.next();
            }
            while media.peek().is_some_and(|placeholder| placeholder.end <= start) {
                media.next();
            }
            let (run_end, writer) = runs
                .peek()
                .map_or((segment.end, Writer::Format), |(run, writer)| (run.end, *writer));
            let (spelling, border) = spelled.at(start);
            let end = match spelling {
                Some(_) => border.min(segment.end),
                None => run_end.min(segment.end).min(border),
            };
            let is_placeholder = media.peek().is_some_and(|placeholder| placeholder.contains(&start));
            let kind = match (segment.special_tokens, writer) {
                _ if is_placeholder => Kind::Placeholder,
                (SpecialTokens::All, _) => Kind::Control,
                (_, writer) => spelling.unwrap_or(match writer {
                    Writer::Request(_) => Kind::Request,
                    Writer::Format | Writer::Config => Kind::Format,
                }),
            };
            let style = kind.style();
            write!(out, "{style}{}{style:#}", visible(&prompt.text()[start..end]))?;
            start = end;
        }
    }
    writeln!(out)
}

/// Text of strangers must not steer the terminal.
pub(crate) fn visible(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\n' | '\t' => c,
            '\0'..='\x1f' => char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}'),
            '\x7f' => '\u{2421}',
            '\u{80}'..='\u{9f}' => '\u{fffd}',
            c => c,
        })
        .collect()
}
