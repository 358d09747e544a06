//! The `typecase` command line.

fn main() {}
