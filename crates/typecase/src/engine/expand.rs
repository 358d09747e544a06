//! The prompt as an engine's model sees it: every placeholder expanded.
//!
//! For routers, which hash what a worker will see, and for counting a request's tokens before it is sent.

use super::scan;
use crate::media::{Anchors, ExpansionIds, Family, Media, Replaces, Vocabulary};
use crate::prompt::Modality;
use crate::{Error, ErrorKind, Result};
use std::ops::Range;

/// A prompt with every media item expanded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExpandedPrompt {
    /// The ids.
    pub ids: Vec<u32>,
    /// Where each item is, in the order of the prompt.
    pub items: Vec<ExpandedItem>,
}

/// Where a media item is in an expanded prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpandedItem {
    /// Positions of the item.
    pub range: Range<usize>,
    /// Positions of its features, within the range.
    pub embeds: Vec<Range<usize>>,
}

/// Expands each placeholder of `ids`. `media` has the items in the order in which their placeholders stand.
///
/// # Errors
/// [`ErrorKind::MediaCount`] (client) if there are not as many placeholders as items of a kind; the errors of
/// [`Family::expand`], located at the item's place in `media`.
pub fn expand(
    ids: &[u32],
    media: &[Media],
    family: &dyn Family,
    anchors: &Anchors,
    vocabulary: &dyn Vocabulary,
) -> Result<ExpandedPrompt> {
    let is_anchor = |id: u32| anchors.iter().any(|(_, anchor)| anchor == id);
    let positions = scan::positions(ids, is_anchor);
    check_counts(ids, &positions, media, anchors)?;
    let mut items = Vec::with_capacity(media.len());
    let mut taken = vec![false; media.len()];
    for position in positions {
        // Kinds of media whose anchors differ may be listed apart: each placeholder takes the next item of its kind.
        let next = media
            .iter()
            .enumerate()
            .position(|(index, media)| !taken[index] && anchors.id(media.modality()) == Some(ids[position]));
        let Some(index) = next else { continue };
        taken[index] = true;
        let expansion = family
            .expand(&media[index])
            .and_then(|expansion| expansion.to_ids(vocabulary))
            .map_err(|error| error.within(index))?;
        let range = replaced(ids, position, family, media[index].modality(), vocabulary)?;
        items.push((range, expansion));
    }
    let mut expanded = expand_at(ids, &items);
    if items.iter().any(|(_, expansion)| expansion.merges_newlines) {
        merge_newlines(&mut expanded, vocabulary);
    }
    Ok(expanded)
}

/// Puts an expansion in place of each range of `ids`. The ranges ascend and do not overlap.
///
/// For families whose markers are text, whose places only the media manifest knows.
pub fn expand_at(ids: &[u32], items: &[(Range<usize>, ExpansionIds)]) -> ExpandedPrompt {
    let added: usize = items.iter().map(|(_, expansion)| expansion.ids.len()).sum();
    let mut out = ExpandedPrompt {
        ids: Vec::with_capacity(ids.len() + added),
        items: Vec::with_capacity(items.len()),
    };
    let mut copied = 0;
    for (range, expansion) in items {
        out.ids.extend_from_slice(&ids[copied..range.start]);
        let start = out.ids.len();
        let shifted = |range: &Range<usize>| start + range.start..start + range.end;
        out.items.push(ExpandedItem {
            range: shifted(&expansion.item),
            embeds: expansion.embeds.iter().map(shifted).collect(),
        });
        out.ids.extend_from_slice(&expansion.ids);
        copied = range.end;
    }
    out.ids.extend_from_slice(&ids[copied..]);
    out
}

fn check_counts(ids: &[u32], positions: &[usize], media: &[Media], anchors: &Anchors) -> Result<()> {
    let mismatch = |modality: Modality, placeholders: usize, items: usize| {
        Err(Error::new(ErrorKind::MediaCount {
            modality,
            placeholders,
            items,
        }))
    };
    for (modality, anchor) in anchors.iter() {
        let placeholders = positions.iter().filter(|position| ids[**position] == anchor).count();
        let items = media
            .iter()
            .filter(|media| anchors.id(media.modality()) == Some(anchor))
            .count();
        if placeholders != items {
            return mismatch(modality, placeholders, items);
        }
    }
    match media.iter().find(|media| anchors.id(media.modality()).is_none()) {
        Some(stray) => mismatch(stray.modality(), 0, 1),
        None => Ok(()),
    }
}

/// What of `ids` the expansion of the item at `position` stands in place of.
fn replaced(
    ids: &[u32],
    position: usize,
    family: &dyn Family,
    modality: Modality,
    vocabulary: &dyn Vocabulary,
) -> Result<Range<usize>> {
    let anchor = position..position + 1;
    let Some(item) = family.contract().item(modality) else {
        return Ok(anchor);
    };
    let Replaces::Marker { before, after } = item.replaces else {
        return Ok(anchor);
    };
    let Some(start) = position.checked_sub(before) else {
        return Ok(anchor);
    };
    let marker = start..position + 1 + after;
    // A bare anchor is taken as it is.
    match ids.get(marker.clone()) {
        Some(found) if found == vocabulary.encode_control(item.marker)?.as_slice() => Ok(marker),
        _ => Ok(anchor),
    }
}

/// Makes one token of neighbouring newline tokens, as the tokenizer would of their text.
///
/// # Source
/// `_apply_token_matches` of vLLM's `gemma3_mm.py`: three replacements, one after the other.
fn merge_newlines(prompt: &mut ExpandedPrompt, vocabulary: &dyn Vocabulary) {
    let newlines = |count: usize| vocabulary.token_id(&"\n\n\n\n"[..count]);
    let (Some(one), Some(two), Some(three), Some(four)) = (newlines(1), newlines(2), newlines(3), newlines(4)) else {
        return;
    };
    for (pair, merged) in [([one, two], three), ([two, one], three), ([two, two], four)] {
        merge_pair(prompt, pair, merged);
    }
}

fn merge_pair(prompt: &mut ExpandedPrompt, pair: [u32; 2], merged: u32) {
    let mut positions = scan::Positions::new();
    for at in scan::positions(&prompt.ids, |id| id == pair[0]) {
        let overlaps = positions.last().is_some_and(|last| last + 1 == at);
        if !overlaps && prompt.ids.get(at + 1) == Some(&pair[1]) {
            positions.push(at);
        }
    }
    if positions.is_empty() {
        return;
    }
    let mut ids = Vec::with_capacity(prompt.ids.len() - positions.len());
    let mut copied = 0;
    for &at in &positions {
        ids.extend_from_slice(&prompt.ids[copied..at]);
        ids.push(merged);
        copied = at + 2;
    }
    ids.extend_from_slice(&prompt.ids[copied..]);
    prompt.ids = ids;
    // Items hold no newlines at their ends, so pairs lie before or after them.
    let shift = |range: &mut Range<usize>| {
        let before = positions.partition_point(|at| *at < range.start);
        *range = range.start - before..range.end - positions.partition_point(|at| *at < range.end);
    };
    for item in &mut prompt.items {
        shift(&mut item.range);
        item.embeds.iter_mut().for_each(shift);
    }
}
