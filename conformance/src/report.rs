//! What came of the cases of one file.

use std::io::{self, Write};

/// What came of one case.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Both sides gave the same.
    Equal,
    /// Both sides refused.
    BothRefuse,
    /// The sides differ; how, in some lines.
    Different(String),
    /// Nothing was compared; why.
    Skipped(String),
}

/// The outcomes of one file.
#[derive(Debug, Default)]
pub(crate) struct Report {
    equal: usize,
    both_refuse: usize,
    different: Vec<(String, String)>,
    skipped: Vec<(String, String)>,
}

/// Names of skipped cases per line.
const NAMES_PER_LINE: usize = 8;

impl Report {
    pub(crate) fn add(&mut self, id: &str, outcome: Outcome) {
        match outcome {
            Outcome::Equal => self.equal += 1,
            Outcome::BothRefuse => self.both_refuse += 1,
            Outcome::Different(how) => self.different.push((id.to_owned(), how)),
            Outcome::Skipped(why) => self.skipped.push((id.to_owned(), why)),
        }
    }

    /// Whether nothing differs.
    pub(crate) fn agrees(&self) -> bool {
        self.different.is_empty()
    }

    /// Prints the counts, the first `show` differences and the names of all skipped cases.
    pub(crate) fn print(&self, name: &str, show: usize) -> io::Result<()> {
        let mut out = io::stdout().lock();
        writeln!(
            out,
            "{name}: equal {}, different {}, error-agreement {}, skipped {}",
            self.equal,
            self.different.len(),
            self.both_refuse,
            self.skipped.len(),
        )?;
        for (id, how) in self.different.iter().take(show) {
            writeln!(out, "  differs: {id}")?;
            for line in how.lines() {
                writeln!(out, "    {line}")?;
            }
        }
        if self.different.len() > show {
            writeln!(out, "  ... and {} more", self.different.len() - show)?;
        }
        // Cases are skipped for the same reason in long rows.
        for row in self.skipped.chunk_by(|(_, a), (_, b)| a == b) {
            writeln!(out, "  skipped, {}:", row[0].1)?;
            for names in row.chunks(NAMES_PER_LINE) {
                let names: Vec<&str> = names.iter().map(|(id, _)| id.as_str()).collect();
                writeln!(out, "    {}", names.join(" "))?;
            }
        }
        Ok(())
    }
}
