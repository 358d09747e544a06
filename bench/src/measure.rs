//! Interleaved timing: A B C A B C ..., so that a disturbance of the machine meets all of them alike.

use std::time::{Duration, Instant};

use crate::{Contender, Verdict};

/// How long and how often.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Batches per contender.
    pub rounds: usize,
    /// A batch repeats its closure until about this long.
    pub batch: Duration,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            rounds: 41,
            batch: Duration::from_millis(2),
        }
    }
}

/// What one contender took.
#[derive(Debug, Clone)]
pub struct Timing {
    /// The peer's name.
    pub peer: &'static str,
    /// Whether its output was right.
    pub verdict: Verdict,
    /// Median over the batches of the seconds per run. `None` for one that fails.
    pub median: Option<f64>,
    /// The fastest batch.
    pub fastest: Option<f64>,
}

/// Times all contenders of one case.
pub fn interleaved(contenders: &mut [Contender<'_>], plan: Plan) -> Vec<Timing> {
    let repeats: Vec<u32> = contenders.iter_mut().map(|c| repeats(c, plan.batch)).collect();
    let mut samples: Vec<Vec<f64>> = vec![Vec::with_capacity(plan.rounds); contenders.len()];
    for _ in 0..plan.rounds {
        for ((contender, &repeats), samples) in contenders.iter_mut().zip(&repeats).zip(&mut samples) {
            if repeats == 0 {
                continue;
            }
            let start = Instant::now();
            for _ in 0..repeats {
                (contender.run)();
            }
            samples.push(start.elapsed().as_secs_f64() / f64::from(repeats));
        }
    }
    contenders
        .iter()
        .zip(samples)
        .map(|(contender, mut samples)| {
            samples.sort_by(f64::total_cmp);
            Timing {
                peer: contender.peer,
                verdict: contender.verdict.clone(),
                median: samples.get(samples.len() / 2).copied(),
                fastest: samples.first().copied(),
            }
        })
        .collect()
}

/// Runs per batch, after a warm-up; 0 for a contender that fails, which is not timed.
fn repeats(contender: &mut Contender<'_>, batch: Duration) -> u32 {
    if matches!(contender.verdict, Verdict::Fails(_)) {
        return 0;
    }
    let start = Instant::now();
    let mut runs = 0u32;
    while runs < 3 || start.elapsed() < batch {
        (contender.run)();
        runs += 1;
    }
    let once = start.elapsed().as_secs_f64() / f64::from(runs);
    // At least one; the cap keeps a closure that was optimised away from running for ever.
    ((batch.as_secs_f64() / once.max(1e-9)).round() as u32).clamp(1, 1_000_000)
}
