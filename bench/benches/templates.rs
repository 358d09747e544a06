//! `render/TEMPLATE/WORKLOAD/STAGE/PEER`: chat templates, from request JSON or the parsed request to prompt text.

use std::{process::exit, time::Duration};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use typecase_bench::{
    Stage, Verdict,
    peers::TemplatePeers,
    reference::{Expected, Reference},
    templates, workload,
};

fn templates(c: &mut Criterion) {
    let (reference, workloads, templates) = match (Reference::open(), workload::load(), templates::load()) {
        (Ok(reference), Ok(workloads), Ok(templates)) => (reference, workloads, templates),
        (Err(err), ..) | (_, Err(err), _) | (.., Err(err)) => {
            eprintln!("skipped: {err}");
            exit(0);
        }
    };
    for template in &templates {
        let peers = TemplatePeers::compile(template);
        for workload in &workloads {
            let expected = match reference.expected(&template.name, workload.name) {
                Ok(Expected::Text(text)) => text,
                // What the reference refuses has no right answer to be fast at.
                Ok(Expected::Refused(_)) => continue,
                Err(err) => panic!("{err}"),
            };
            for stage in Stage::ALL {
                let mut group =
                    c.benchmark_group(format!("render/{}/{}/{}", template.name, workload.name, stage.name()));
                group
                    .warm_up_time(Duration::from_millis(300))
                    .measurement_time(Duration::from_secs(1))
                    .sample_size(30);
                group.throughput(Throughput::Bytes(expected.len() as u64));
                for mut contender in peers.contenders(stage, &workload.json, &expected) {
                    let name = match contender.verdict {
                        Verdict::Exact | Verdict::Unchecked => contender.peer.to_owned(),
                        Verdict::Differs(_) => format!("{} (inexact)", contender.peer),
                        Verdict::Fails(_) => continue,
                    };
                    group.bench_function(name, |b| b.iter(&mut contender.run));
                }
                group.finish();
            }
        }
    }
}

criterion_group!(benches, templates);
criterion_main!(benches);
