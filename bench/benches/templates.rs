//! `render/TEMPLATE/WORKLOAD/STAGE/PEER`: chat templates, to prompt text.

mod contender_group;

use criterion::{Criterion, criterion_group, criterion_main};
use typecase_bench::{
    Stage,
    peers::TemplatePeers,
    reference::{Expected, Reference},
    templates, workload,
};

fn templates(c: &mut Criterion) {
    if let Err(err) = bench(c) {
        eprintln!("skipped: {err}");
    }
}

fn bench(c: &mut Criterion) -> Result<(), String> {
    let reference = Reference::open()?;
    let workloads = workload::load()?;
    for template in &templates::load()? {
        let peers = TemplatePeers::compile(template);
        for workload in &workloads {
            // What the reference refuses has no right answer to be fast at.
            let Expected::Text(expected) = reference.expected(&template.name, workload.name)? else {
                continue;
            };
            for stage in Stage::ALL {
                let id = format!("render/{}/{}/{}", template.name, workload.name, stage.name());
                let contenders = peers.contenders(stage, &workload.json, &expected);
                contender_group::run(c, &id, expected.len(), contenders);
            }
        }
    }
    Ok(())
}

criterion_group!(benches, templates);
criterion_main!(benches);
