//! One criterion group per case: the contenders under their peers' names, inexact ones marked.

use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput};
use typecase_bench::{Contender, Verdict};

/// Runs all contenders as the group `id`. One that fails is left out: `compare` says why.
pub fn run(c: &mut Criterion, id: &str, bytes: usize, contenders: Vec<Contender<'_>>) {
    let mut group = c.benchmark_group(id);
    group
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .sample_size(30);
    group.throughput(Throughput::Bytes(bytes as u64));
    for mut contender in contenders {
        let name = match contender.verdict {
            Verdict::Exact | Verdict::Unchecked => contender.peer.to_owned(),
            Verdict::Differs(_) => format!("{} (inexact)", contender.peer),
            Verdict::Fails(_) => continue,
        };
        let per_run = contender.per_run as u64;
        group.bench_function(name, |b| {
            b.iter_custom(|renders| {
                let runs = renders.div_ceil(per_run);
                let start = Instant::now();
                (0..runs).for_each(|_| (contender.run)());
                start.elapsed().mul_f64(renders as f64 / (runs * per_run) as f64)
            });
        });
    }
    group.finish();
}
