//! Bounds on the work and the memory of one render.

use super::{Exception, ExceptionKind};
use std::cell::Cell;

/// Counts down what is left to spend. Belongs to an arena; without bounds until they are set.
#[derive(Debug)]
pub struct Meter {
    work: Cell<u64>,
    bytes: Cell<u64>,
}

impl Default for Meter {
    fn default() -> Self {
        Meter {
            work: Cell::new(u64::MAX),
            bytes: Cell::new(u64::MAX),
        }
    }
}

impl Meter {
    /// Sets what may be spent from now on.
    pub fn set(&self, work: u64, bytes: u64) {
        self.work.set(work);
        self.bytes.set(bytes);
    }

    /// Units of work left.
    pub fn work_left(&self) -> u64 {
        self.work.get()
    }

    /// Spends `units` of work: one for a step, an item looked at, or a few bytes looked at. Called before the work.
    ///
    /// # Errors
    /// [`ExceptionKind::Limit`] when less is left.
    #[inline]
    pub fn work(&self, units: usize) -> Result<(), Exception> {
        match self.work.get().checked_sub(units as u64) {
            Some(left) => {
                self.work.set(left);
                Ok(())
            }
            None => Err(exhausted("work (fuel)")),
        }
    }

    /// Spends work for looking at `bytes` bytes of text.
    ///
    /// # Errors
    /// As [`work`](Self::work).
    #[inline]
    pub fn scan(&self, bytes: usize) -> Result<(), Exception> {
        self.work(bytes / 16)
    }

    /// Spends memory: called before a string, a list or an integer of `bytes` bytes is made.
    ///
    /// # Errors
    /// [`ExceptionKind::Limit`] when less is left.
    #[inline]
    pub fn memory(&self, bytes: usize) -> Result<(), Exception> {
        match self.bytes.get().checked_sub(bytes as u64) {
            Some(left) => {
                self.bytes.set(left);
                self.scan(bytes)
            }
            None => Err(exhausted("memory")),
        }
    }
}

#[cold]
fn exhausted(what: &str) -> Exception {
    Exception::new(
        ExceptionKind::Limit,
        format!("the template used up its allowance of {what}"),
    )
}
