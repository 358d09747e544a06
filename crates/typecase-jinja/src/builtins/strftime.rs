//! `strftime_now`.
