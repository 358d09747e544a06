//! How a run ended, as exit status.

use anyhow::{Error, Result};
use std::io;
use std::process::ExitCode;

/// How a run that could be made ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Everything was done.
    Done,
    /// Some request was refused.
    Refused,
}

/// The exit status of a run. What went wrong is said on standard error.
pub(crate) fn code(result: Result<Outcome>) -> ExitCode {
    match result {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Refused) => ExitCode::from(1),
        // Whoever reads has enough: `| head` is no failure.
        Err(err) if is_closed_pipe(&err) => ExitCode::SUCCESS,
        Err(err) => {
            anstream::eprintln!("{ERROR}error:{ERROR:#} {}", message(&err));
            ExitCode::from(2)
        }
    }
}

/// How errors are marked.
pub(crate) const ERROR: anstyle::Style = anstyle::AnsiColor::Red.on_default().bold();

/// An error and its causes, without those that the text has already: many libraries repeat the cause in their own.
fn message(err: &Error) -> String {
    let mut message = err.to_string();
    for cause in err.chain().skip(1).map(ToString::to_string) {
        if !message.contains(&cause) {
            message.push_str(": ");
            message.push_str(&cause);
        }
    }
    message
}

fn is_closed_pipe(err: &Error) -> bool {
    err.chain().any(|cause| {
        let io = cause.downcast_ref::<io::Error>();
        io.is_some_and(|io| io.kind() == io::ErrorKind::BrokenPipe)
    })
}
