//! Tables of medians and ratios, in Markdown.

use std::{collections::BTreeMap, fmt::Write as _};

use crate::{Verdict, measure::Timing};

/// All timings of one case: one row of a table.
pub struct Row {
    /// Template or format.
    pub case: String,
    /// The workload's name.
    pub workload: String,
    /// One per contender, in table order.
    pub timings: Vec<Timing>,
}

/// Writes a table per workload: microseconds per peer; `*` marks output that is not the reference's. With `subject`
/// among the peers, the last columns say how many times longer the fastest exact peer and `rival` took, and a line of
/// geometric means follows.
#[must_use]
pub fn table(rows: &[Row], subject: &str, rival: &str) -> String {
    let mut by_workload: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        by_workload.entry(&row.workload).or_default().push(row);
    }
    let mut out = String::new();
    for (workload, rows) in by_workload {
        write_workload(&mut out, workload, &rows, subject, rival);
    }
    out
}

fn write_workload(out: &mut String, workload: &str, rows: &[&Row], subject: &str, rival: &str) {
    let mut peers: Vec<&str> = Vec::new();
    for timing in rows.iter().flat_map(|row| &row.timings) {
        if !peers.contains(&timing.peer) {
            peers.push(timing.peer);
        }
    }
    let _ = write!(out, "\n| {workload}, µs |");
    for peer in &peers {
        let _ = write!(out, " {peer} |");
    }
    let _ = write!(out, " fastest exact peer | × fastest exact | × {rival} |\n|---|");
    let _ = writeln!(out, "{}", "---:|".repeat(peers.len() + 3));
    let (mut to_fastest, mut to_rival) = (Vec::new(), Vec::new());
    for row in rows {
        let _ = write!(out, "| {} |", row.case);
        for peer in &peers {
            let _ = write!(
                out,
                " {} |",
                row.timings
                    .iter()
                    .find(|t| t.peer == *peer)
                    .map_or_else(String::new, cell)
            );
        }
        let fastest = row
            .timings
            .iter()
            .filter(|t| !t.peer.starts_with(subject) && matches!(t.verdict, Verdict::Exact))
            .filter_map(|t| Some((t.peer, t.median?)))
            .min_by(|a, b| a.1.total_cmp(&b.1));
        let exact = |t: &&Timing| matches!(t.verdict, Verdict::Exact | Verdict::Unchecked);
        let own = row
            .timings
            .iter()
            .find(|t| t.peer == subject)
            .filter(exact)
            .and_then(|t| t.median);
        let rival = row.timings.iter().find(|t| t.peer == rival).and_then(|t| t.median);
        let ratio = |other: Option<f64>| Some(other? / own?);
        let (fast, slow) = (ratio(fastest.map(|f| f.1)), ratio(rival));
        to_fastest.extend(fast);
        to_rival.extend(slow);
        let times = |ratio: Option<f64>| ratio.map_or_else(String::new, |r| format!("{r:.2}"));
        let _ = writeln!(
            out,
            " {} | {} | {} |",
            fastest.map_or("", |f| f.0),
            times(fast),
            times(slow)
        );
    }
    let mean = |ratios: &[f64]| {
        if ratios.is_empty() {
            String::new()
        } else {
            format!("**{:.2}** ({})", geometric_mean(ratios), ratios.len())
        }
    };
    let _ = writeln!(
        out,
        "| geometric mean | {} | {} | {} |",
        "|".repeat(peers.len()),
        mean(&to_fastest),
        mean(&to_rival)
    );
}

fn cell(timing: &Timing) -> String {
    let mark = match timing.verdict {
        Verdict::Exact | Verdict::Unchecked => "",
        Verdict::Differs(_) => " *",
        Verdict::Fails(_) => return "fails".to_owned(),
    };
    timing
        .median
        .map_or_else(String::new, |seconds| format!("{}{mark}", micros(seconds)))
}

fn micros(seconds: f64) -> String {
    let micros = seconds * 1e6;
    if micros < 10.0 {
        format!("{micros:.2}")
    } else if micros < 100.0 {
        format!("{micros:.1}")
    } else {
        format!("{micros:.0}")
    }
}

/// The mean that ratios have.
#[must_use]
pub fn geometric_mean(ratios: &[f64]) -> f64 {
    (ratios.iter().map(|r| r.ln()).sum::<f64>() / ratios.len() as f64).exp()
}

/// One line per contender that is not exact.
#[must_use]
pub fn remarks(rows: &[Row]) -> String {
    let mut out = String::new();
    for row in rows {
        for timing in &row.timings {
            let (word, detail) = match &timing.verdict {
                Verdict::Differs(detail) => ("differs", detail),
                Verdict::Fails(detail) => ("fails", detail),
                Verdict::Exact | Verdict::Unchecked => continue,
            };
            let detail: String = detail.replace('\n', " ").chars().take(240).collect();
            let _ = writeln!(out, "- {} {} {}: {word}: {detail}", row.case, row.workload, timing.peer);
        }
    }
    out
}
