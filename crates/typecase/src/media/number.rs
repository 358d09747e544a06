//! Python's arithmetic, where it is not Rust's.

/// `round(x)`: halves go to the even neighbour.
pub(super) fn round(x: f64) -> f64 {
    x.round_ties_even()
}

/// `int(x)` of a float that is not negative: the fraction is dropped.
pub(super) fn int(x: f64) -> u64 {
    // `as` saturates, and sides of images are far below 2^53.
    x as u64
}

/// `(factor - n % factor) % factor`: what is missing to a multiple of `factor`.
pub(super) fn padding(n: u64, factor: u64) -> u64 {
    n.next_multiple_of(factor) - n
}
