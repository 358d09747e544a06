//! Units of encoding.

/// Which special tokens the bytes of a segment may become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpecialTokens {
    /// Any: a control segment, written by the format.
    All,
    /// None: ordinary text, whatever it spells.
    None,
    /// Only where every byte of the spelling was written by the template or by trusted configuration.
    Trusted,
}

/// A unit of encoding: no token crosses its borders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Where the segment ends, in bytes from the start of the prompt; it begins where the one before ends.
    pub end: usize,
    /// Which special tokens it may become.
    pub special_tokens: SpecialTokens,
}
