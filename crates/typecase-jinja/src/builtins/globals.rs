//! Global functions.
