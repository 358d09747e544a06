//! Interleaved timing: A B C A B C ..., so that a disturbance of the machine meets all of them alike.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::{Contender, Verdict};

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// Processor time of this thread: unmoved by what else the machine runs, blind to helper threads.
    Cpu,
    /// Time that passes.
    Wall,
}

impl Clock {
    fn seconds(self) -> f64 {
        let id = match self {
            Self::Cpu => ClockId::ThreadCPUTime,
            Self::Wall => ClockId::Monotonic,
        };
        let now = clock_gettime(id);
        now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
    }
}

/// How long and how often.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Batches per contender.
    pub rounds: usize,
    /// A batch repeats its closure until about this long.
    pub batch: Duration,
    /// What is counted.
    pub clock: Clock,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            rounds: 41,
            batch: Duration::from_millis(2),
            clock: Clock::Cpu,
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
    let repeats: Vec<u32> = contenders.iter_mut().map(|c| repeats(c, plan)).collect();
    let mut samples: Vec<Vec<f64>> = vec![Vec::with_capacity(plan.rounds); contenders.len()];
    for _ in 0..plan.rounds {
        for ((contender, &repeats), samples) in contenders.iter_mut().zip(&repeats).zip(&mut samples) {
            if repeats == 0 {
                continue;
            }
            // Not counted: the contender before left the processor's caches and the allocator to itself.
            (contender.run)();
            let start = plan.clock.seconds();
            for _ in 0..repeats {
                (contender.run)();
            }
            samples.push((plan.clock.seconds() - start) / (f64::from(repeats) * contender.per_run as f64));
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
fn repeats(contender: &mut Contender<'_>, plan: Plan) -> u32 {
    if matches!(contender.verdict, Verdict::Fails(_)) {
        return 0;
    }
    let start = plan.clock.seconds();
    let mut runs = 0u32;
    while runs < 3 || plan.clock.seconds() - start < plan.batch.as_secs_f64() {
        (contender.run)();
        runs += 1;
    }
    let once = (plan.clock.seconds() - start) / f64::from(runs);
    // At least one; the cap keeps a closure that was optimised away from running for ever.
    ((plan.batch.as_secs_f64() / once.max(1e-9)).round() as u32).clamp(1, 1_000_000)
}
