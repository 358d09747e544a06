//! Turns the syntax tree of a template into a program.
