//! `render/kimi_k3/WORKLOAD/STAGE/PEER`: Kimi K3 to a prompt with segments.

mod contender_group;

use criterion::{Criterion, criterion_group, criterion_main};
use typecase_bench::{Stage, peers, workload};

fn kimi_k3(c: &mut Criterion) {
    match workload::load() {
        Err(err) => eprintln!("skipped: {err}"),
        Ok(workloads) => {
            for workload in &workloads {
                for stage in [Stage::Json, Stage::Request] {
                    let id = format!("render/kimi_k3/{}/{}", workload.name, stage.name());
                    let contenders = peers::kimi_k3::contenders(stage, &workload.json);
                    contender_group::run(c, &id, workload.json.len(), contenders);
                }
            }
        }
    }
}

criterion_group!(benches, kimi_k3);
criterion_main!(benches);
