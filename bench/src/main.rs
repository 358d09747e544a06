//! `compare`: all peers in one run, interleaved, as a table of ratios.

use std::{
    process::{Command, Stdio},
    time::Duration,
};

use typecase_bench::{
    Contender, Stage,
    measure::{Clock, Plan, Timing, interleaved},
    peers::{TemplatePeers, kimi_k3},
    reference::{Expected, Reference},
    report::{self, Row},
    templates, workload,
};

const HELP: &str = "\
usage: typecase-bench compare [templates|kimi_k3|tokens]... [options]

  --only TEXT        templates whose name contains TEXT
  --workload NAME    only this workload (w1, w2, w3, w4; of tokens also w5)
  --peer NAME        of tokens: only typecase and this pipeline, as a server has one
  --stage NAME       json, request or value; all by default
  --rounds N         batches per contender [41]
  --batch-ms N       length of a batch [2]
  --clock NAME       cpu (of the measuring thread) or wall [cpu]
  --python PROGRAM   also time Jinja2 and transformers in a process of this Python
  --check            hold outputs against the reference and time nothing
";

struct Options {
    suites: Vec<String>,
    only: String,
    workload: Option<String>,
    peer: Option<String>,
    stages: Vec<Stage>,
    plan: Plan,
    python: Option<String>,
    check: bool,
}

fn main() {
    let options = match parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}\n{HELP}");
            std::process::exit(2);
        }
    };
    for suite in &options.suites {
        let done = match suite.as_str() {
            "templates" => compare_templates(&options),
            "kimi_k3" => compare_kimi_k3(&options),
            #[cfg(feature = "tokens")]
            "tokens" => compare_tokens(&options),
            other => Err(format!("no suite {other:?}")),
        };
        if let Err(message) = done {
            eprintln!("{suite}: {message}");
            std::process::exit(2);
        }
    }
}

fn parse(mut args: impl Iterator<Item = String>) -> Result<Options, String> {
    if args.next().as_deref() != Some("compare") {
        return Err("the command is `compare`".to_owned());
    }
    let mut options = Options {
        suites: Vec::new(),
        only: String::new(),
        workload: None,
        peer: None,
        stages: Stage::ALL.to_vec(),
        plan: Plan::default(),
        python: None,
        check: false,
    };
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} wants a value"));
        match arg.as_str() {
            "--only" => options.only = value()?,
            "--peer" => options.peer = Some(value()?),
            "--workload" => options.workload = Some(value()?),
            "--stage" => {
                let name = value()?;
                options.stages.retain(|stage| stage.name() == name);
            }
            "--rounds" => options.plan.rounds = value()?.parse().map_err(|err| format!("--rounds: {err}"))?,
            "--batch-ms" => {
                options.plan.batch =
                    Duration::from_millis(value()?.parse().map_err(|err| format!("--batch-ms: {err}"))?);
            }
            "--clock" => {
                options.plan.clock = match value()?.as_str() {
                    "cpu" => Clock::Cpu,
                    "wall" => Clock::Wall,
                    other => return Err(format!("no clock {other:?}")),
                };
            }
            "--python" => options.python = Some(value()?),
            "--check" => options.check = true,
            suite if !suite.starts_with('-') => options.suites.push(suite.to_owned()),
            other => return Err(format!("unknown option {other}")),
        }
    }
    if options.suites.is_empty() {
        options.suites = ["templates", "kimi_k3"].map(str::to_owned).to_vec();
        if cfg!(feature = "tokens") {
            options.suites.push("tokens".to_owned());
        }
    }
    Ok(options)
}

fn workloads(options: &Options) -> Result<Vec<workload::Workload>, String> {
    let mut workloads = workload::load()?;
    workloads.retain(|w| options.workload.as_deref().is_none_or(|only| only == w.name));
    Ok(workloads)
}

fn measure(mut contenders: Vec<Contender<'_>>, options: &Options) -> Vec<Timing> {
    if options.check {
        let untimed = |c: Contender<'_>| Timing {
            peer: c.peer,
            verdict: c.verdict,
            median: None,
            fastest: None,
        };
        return contenders.into_iter().map(untimed).collect();
    }
    interleaved(&mut contenders, options.plan)
}

fn compare_templates(options: &Options) -> Result<(), String> {
    let reference = Reference::open()?;
    let workloads = workloads(options)?;
    let mut templates = templates::load()?;
    templates.retain(|template| template.name.contains(&options.only));
    let peers: Vec<_> = templates.iter().map(TemplatePeers::compile).collect();
    let manifest = &reference.manifest;
    println!(
        "# Templates\n\nReference: transformers {}, Jinja2 {}, Python {}. `*`: output differs from it.",
        manifest.transformers, manifest.jinja2, manifest.python
    );
    for stage in &options.stages {
        let mut rows = Vec::new();
        for (template, peers) in templates.iter().zip(&peers) {
            for workload in &workloads {
                let Expected::Text(expected) = reference.expected(&template.name, workload.name)? else {
                    continue;
                };
                let timings = measure(peers.contenders(*stage, &workload.json, &expected), options);
                rows.push(Row {
                    case: template.name.clone(),
                    workload: workload.name.to_owned(),
                    timings,
                });
                eprint!(".");
            }
        }
        eprintln!();
        print_stage(*stage, &rows, options);
    }
    if let Some(python) = options.python.as_deref().filter(|_| !options.check) {
        println!("\n## Python, in its own process\n");
        time_python(python, options)?;
    }
    Ok(())
}

/// Runs `reference.py time`: another process, not interleaved, so its numbers stand beside the tables, not in them.
fn time_python(python: &str, options: &Options) -> Result<(), String> {
    let script = workload::home().join("reference.py");
    let done = Command::new(python)
        .arg(script)
        .args(["time", "--only", &options.only])
        .stderr(Stdio::null())
        .output();
    let done = done.map_err(|err| format!("{python}: {err}"))?;
    if !done.status.success() {
        return Err(format!("{python}: {}", done.status));
    }
    println!("| template | workload | Jinja2 render, µs | transformers from JSON, µs |\n|---|---|---:|---:|");
    for line in String::from_utf8_lossy(&done.stdout).lines() {
        let line: PythonTime = serde_json::from_str(line).map_err(|err| format!("{python}: {err}"))?;
        let (jinja2, transformers) = (line.jinja2 * 1e6, line.transformers * 1e6);
        println!(
            "| {} | {} | {jinja2:.0} | {transformers:.0} |",
            line.template, line.workload
        );
    }
    Ok(())
}

/// A line of `reference.py time`, in seconds.
#[derive(serde::Deserialize)]
struct PythonTime {
    template: String,
    workload: String,
    jinja2: f64,
    transformers: f64,
}

fn compare_kimi_k3(options: &Options) -> Result<(), String> {
    let workloads = workloads(options)?;
    println!("\n# Kimi K3");
    for stage in &options.stages {
        let mut rows = Vec::new();
        for workload in &workloads {
            let contenders = kimi_k3::contenders(*stage, &workload.json);
            if contenders.is_empty() {
                continue;
            }
            let timings = measure(contenders, options);
            rows.push(Row {
                case: "kimi_k3".to_owned(),
                workload: workload.name.to_owned(),
                timings,
            });
        }
        print_stage(*stage, &rows, options);
    }
    Ok(())
}

/// Models whose vocabulary lies in the models directory, by the name of their template.
#[cfg(feature = "tokens")]
fn compare_tokens(options: &Options) -> Result<(), String> {
    use typecase_bench::peers::tokens::{Cache, TokenPeers, model_directory};
    println!("\n# Token ids, from request JSON");
    let workloads = workloads(options)?;
    let turns = workload::turns()?;
    for template in templates::load()?
        .iter()
        .filter(|template| template.name.contains(&options.only))
    {
        let directory = model_directory(&template.name);
        if !directory.exists() {
            continue;
        }
        let mut rows = Vec::new();
        if !workloads.is_empty() {
            let cold = TokenPeers::load(template, &directory, Cache::Cold, options.peer.as_deref())?;
            for workload in &workloads {
                let timings = measure(cold.contenders(&workload.json), options);
                rows.push(Row {
                    case: template.name.clone(),
                    workload: workload.name.to_owned(),
                    timings,
                });
            }
        }
        if options.workload.as_deref().is_none_or(|only| only == "w5") {
            let warm = TokenPeers::load(template, &directory, Cache::Warm, options.peer.as_deref())?;
            let timings = measure(warm.conversations(&turns), options);
            rows.push(Row {
                case: template.name.clone(),
                workload: "w5, all turns".to_owned(),
                timings,
            });
        }
        if !options.check {
            println!("{}", report::table(&rows, "typecase", "dynamo + fastokens"));
        }
        println!("{}", report::remarks(&rows));
    }
    Ok(())
}

fn print_stage(stage: Stage, rows: &[Row], options: &Options) {
    if rows.is_empty() {
        return;
    }
    println!("\n## From {}", stage.name());
    if !options.check {
        println!("{}", report::table(rows, "typecase", "dynamo"));
    }
    println!("{}", report::remarks(rows));
}
