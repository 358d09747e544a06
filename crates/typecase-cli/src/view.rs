//! What people see: the prompt with its segments told apart by colour, the media, the ids.

use crate::output::{path, placeholder_token};
use anstyle::{AnsiColor, Style};
use std::io::{self, Write};
use typecase::Tokens;
use typecase::prompt::{Prompt, SpecialTokens, Writer};

/// Control tokens.
const CONTROL: Style = AnsiColor::Cyan.on_default().bold();
/// Placeholders of media.
const PLACEHOLDER: Style = Style::new()
    .fg_color(Some(anstyle::Color::Ansi(AnsiColor::Black)))
    .bg_color(Some(anstyle::Color::Ansi(AnsiColor::Yellow)))
    .bold();
/// Text that the format wrote.
const FORMAT: Style = AnsiColor::Green.on_default();
/// Text that the request brought.
const REQUEST: Style = Style::new();
/// What is said about the prompt.
const NOTE: Style = Style::new().dimmed();

pub(crate) fn print(out: &mut impl Write, prompt: &Prompt<'_>, tokens: &Tokens, format: &str) -> io::Result<()> {
    write_prompt(out, prompt)?;
    let segments = prompt.segments().len();
    let control = prompt
        .segments()
        .iter()
        .filter(|s| s.special_tokens == SpecialTokens::All)
        .count();
    writeln!(
        out,
        "{NOTE}{format}: {} bytes in {segments} segments ({CONTROL}control{CONTROL:#}{NOTE} {control}; \
         {FORMAT}text of the format{FORMAT:#}{NOTE}; text of the request; {PLACEHOLDER}placeholders{PLACEHOLDER:#}{NOTE} {})\
         {NOTE:#}",
        prompt.text().len(),
        prompt.media().len(),
    )?;
    for item in prompt.media().items() {
        let token = placeholder_token(item, tokens).map_or("no single token".to_owned(), |at| format!("token {at}"));
        writeln!(
            out,
            "{NOTE}{} of {}: {token}{NOTE:#}",
            item.modality.as_str(),
            path(item)
        )?;
    }
    let ids: Vec<String> = tokens.ids().iter().map(u32::to_string).collect();
    writeln!(out, "{NOTE}{} token ids:{NOTE:#}", ids.len())?;
    writeln!(out, "{}", ids.join(" "))
}

/// The prompt as it is, with each run of bytes in the colour of its writer.
fn write_prompt(out: &mut impl Write, prompt: &Prompt<'_>) -> io::Result<()> {
    let mut media = prompt.media().items().iter().map(|item| &item.placeholder).peekable();
    let mut runs = prompt.provenance().ranges().peekable();
    let mut start = 0;
    for segment in prompt.segments() {
        while start < segment.end {
            // A piece is what one writer wrote within one segment.
            while runs.peek().is_some_and(|(run, _)| run.end <= start) {
                runs.next();
            }
            while media.peek().is_some_and(|placeholder| placeholder.end <= start) {
                media.next();
            }
            let (run_end, writer) = runs
                .peek()
                .map_or((segment.end, Writer::Format), |(run, writer)| (run.end, *writer));
            let end = run_end.min(segment.end);
            let is_placeholder = media.peek().is_some_and(|placeholder| placeholder.contains(&start));
            let style = match (segment.special_tokens, writer) {
                _ if is_placeholder => PLACEHOLDER,
                (SpecialTokens::All, _) => CONTROL,
                (_, Writer::Request(_)) => REQUEST,
                _ => FORMAT,
            };
            write!(out, "{style}{}{style:#}", visible(&prompt.text()[start..end]))?;
            start = end;
        }
    }
    writeln!(out)
}

/// Text of strangers must not steer the terminal.
fn visible(text: &str) -> String {
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
