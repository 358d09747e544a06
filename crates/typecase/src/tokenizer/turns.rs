//! Turns of the assistant among the tokens of a prompt, where no `{% generation %}` block marks them.
//!
//! Provenance tells what the assistant said; the format's scaffolding around it (`<tool_call>`, `<|channel|>final`) is
//! the model's own writing as well, but for what opens the turn. So a turn goes from behind its opening (`<|im_start|>`,
//! `assistant`, line break), where that is known and stands there, else from the first token of what was said; and to the
//! token that closes it.

use super::TokenOrigin;
use crate::prompt::Writer;
use std::collections::HashMap;
use std::ops::Range;

/// The tokens that open and close turns of the assistant in prompts of one format.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TurnMarks {
    /// What a prompt has before the first token that a model writes, as far as it is the same in every prompt. Empty: not
    /// known.
    pub opening: Vec<u32>,
    /// Whether a turn may open with the beginning of `opening` alone, as turns of the past do where a new one begins with
    /// thinking.
    pub abridged: bool,
    /// Tokens that close a turn.
    pub closing: Vec<u32>,
}

impl TurnMarks {
    /// Turns of an unknown opening that end with one of `ids`.
    pub fn closed_by(ids: &[u32]) -> Self {
        TurnMarks {
            closing: ids.to_vec(),
            ..TurnMarks::default()
        }
    }

    /// The turns among the tokens, each with its message, in order. `is_assistant` tells the messages whose turns are
    /// looked for.
    pub(super) fn find(
        &self,
        ids: &[u32],
        tokens: &[TokenOrigin],
        is_assistant: impl Fn(usize) -> bool,
    ) -> Vec<(usize, Range<usize>)> {
        let mut turns: Vec<(usize, Range<usize>)> = Vec::new();
        let mut turns_of: HashMap<usize, usize> = HashMap::new();
        let mut at = 0;
        while let Some(first) = (at..tokens.len()).find(|&index| tokens[index].is_content) {
            let message = tokens[first].message;
            let said = self.said(ids, tokens, first);
            let scaffolding = self.scaffolding_after(tokens, said.end);
            let close = (scaffolding.clone()).find(|&index| self.closes(ids, tokens, index));
            let begin = tokens[..first].iter().rposition(|token| token.is_content);
            let before = begin.map_or(0, |last| last + 1)..first;
            at = said.end;
            let Some(message) = message.filter(|&message| is_assistant(message)) else {
                continue;
            };
            let earlier = turns_of.entry(message).or_insert(0);
            // What a format repeats of a message elsewhere (the name of a called tool beside its result) is no turn: only
            // a turn that is opened as such is another one of the same message.
            let start = match (*earlier, self.opened(&ids[before.clone()])) {
                (0, Some(opened)) => before.start + opened,
                (0, None) => first,
                (_, Some(opened)) if !self.is_abridged(&ids[before.clone()]) => before.start + opened,
                _ => continue,
            };
            *earlier += 1;
            turns.push((message, start..close.map_or(said.end, |close| close + 1)));
        }
        turns
    }

    /// The tokens from `first` on to the last that the same message says, without one that closes its turn in between.
    fn said(&self, ids: &[u32], tokens: &[TokenOrigin], first: usize) -> Range<usize> {
        let mut end = first + 1;
        for (index, token) in tokens.iter().enumerate().skip(first + 1) {
            match token.is_content {
                true if token.message == tokens[first].message => end = index + 1,
                true => break,
                false if self.closes(ids, tokens, index) => break,
                false => {}
            }
        }
        first..end
    }

    fn scaffolding_after(&self, tokens: &[TokenOrigin], from: usize) -> Range<usize> {
        let len = tokens[from..].iter().take_while(|token| !token.is_content).count();
        from..from + len
    }

    /// Whether a token closes a turn; one that a request spelled does not.
    fn closes(&self, ids: &[u32], tokens: &[TokenOrigin], index: usize) -> bool {
        self.closing.contains(&ids[index]) && !matches!(tokens[index].writer, Writer::Request(_))
    }

    /// Where the last opening within `ids` ends; of abridged ones, the longest.
    fn opened(&self, ids: &[u32]) -> Option<usize> {
        let longest = (0..ids.len())
            .map(|at| (self.shared(&ids[at..]), at))
            .max()
            .filter(|(len, _)| *len > 0)?;
        let is_whole = longest.0 == self.opening.len();
        (is_whole || self.abridged).then_some(longest.1 + longest.0)
    }

    /// Whether `ids` have no whole opening.
    fn is_abridged(&self, ids: &[u32]) -> bool {
        !(0..ids.len()).any(|at| self.shared(&ids[at..]) == self.opening.len())
    }

    /// How many tokens of the opening `ids` begin with.
    fn shared(&self, ids: &[u32]) -> usize {
        self.opening.iter().zip(ids).take_while(|(a, b)| a == b).count()
    }
}
