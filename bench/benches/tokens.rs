//! `tokens/MODEL/WORKLOAD/PEER`: from request JSON to token ids; `w5` is a conversation, each turn as it comes.

mod contender_group;

use criterion::{Criterion, criterion_group, criterion_main};
use typecase_bench::{
    peers::tokens::{Cache, TokenPeers, model_directory},
    templates, workload,
};

fn tokens(c: &mut Criterion) {
    if let Err(err) = bench(c) {
        eprintln!("skipped: {err}");
    }
}

fn bench(c: &mut Criterion) -> Result<(), String> {
    let workloads = workload::load()?;
    let turns = workload::turns()?;
    for template in &templates::load()? {
        let directory = model_directory(&template.name);
        if !directory.exists() {
            continue;
        }
        let cold = TokenPeers::load(template, &directory, Cache::Cold, None)?;
        for workload in &workloads {
            let id = format!("tokens/{}/{}", template.name, workload.name);
            contender_group::run(c, &id, workload.json.len(), cold.contenders(&workload.json));
        }
        let warm = TokenPeers::load(template, &directory, Cache::Warm, None)?;
        let bytes = turns.iter().map(String::len).sum();
        contender_group::run(
            c,
            &format!("tokens/{}/w5", template.name),
            bytes,
            warm.conversations(&turns),
        );
    }
    Ok(())
}

criterion_group!(benches, tokens);
criterion_main!(benches);
