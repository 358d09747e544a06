//! Engines that take the canonical form.

use super::{RawMedia, scan};
use crate::media::Anchors;
use crate::prompt::Modality;
use crate::{Error, ErrorKind, Result};

/// The adapter for every family whose engine form is the canonical one: it only counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Canonical {
    anchors: Anchors,
}

impl Canonical {
    /// The adapter for a checkpoint with these anchors.
    ///
    /// Media without an anchor of their own (InternVL's, whose marker is text) cannot be counted in ids, and are not.
    pub fn new(anchors: Anchors) -> Self {
        Canonical { anchors }
    }

    /// The same `ids`, once they are found to have one placeholder per item of `media`.
    ///
    /// # Errors
    /// [`ErrorKind::MediaCount`] (client) if they have not.
    pub fn prompt_ids<'a>(&self, ids: &'a [u32], media: &RawMedia) -> Result<&'a [u32]> {
        // Kinds of media that share an anchor (Kimi K2.5) are counted together, and unified items with them.
        let mut groups: Vec<(u32, Modality, usize)> = Vec::new();
        for (modality, id) in self.anchors.iter() {
            match groups.iter_mut().find(|(known, ..)| *known == id) {
                Some((.., items)) => *items += media.count(modality),
                None => groups.push((id, modality, media.count(modality))),
            }
        }
        for (anchor, modality, items) in groups {
            let placeholders = scan::positions(ids, |id| id == anchor).len();
            if placeholders != items {
                return Err(Error::new(ErrorKind::MediaCount {
                    modality,
                    placeholders,
                    items,
                }));
            }
        }
        Ok(ids)
    }
}
