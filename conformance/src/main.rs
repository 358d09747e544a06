//! Holds the formats of typecase against their references.

fn main() {}
