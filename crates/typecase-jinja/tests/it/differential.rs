//! Random expressions, compared with a live Python (`tests/differential/expressions.py`).
//!
//! `TYPECASE_ORACLE_PYTHON` names the interpreter (`python3` without it), which needs jinja2 3.1.6; without that the test
//! says so and passes. `TYPECASE_SEED` and `TYPECASE_COUNT` choose another or a longer run.

use super::language::difference;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use typecase_jinja::value::{Arena, json};

#[test]
fn expressions_give_what_python_gives() {
    let python = std::env::var("TYPECASE_ORACLE_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let wanted = |name: &str, default: &str| std::env::var(name).unwrap_or_else(|_| default.to_owned());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/differential/expressions.py");
    let has_jinja = Command::new(&python)
        .args(["-c", "import jinja2; assert jinja2.__version__ == '3.1.6'"])
        .output()
        .is_ok_and(|output| output.status.success());
    if !has_jinja {
        println!("skipped: {python} has no jinja2 3.1.6");
        return;
    }
    let output = Command::new(&python)
        .arg(&script)
        .args([
            "--seed",
            &wanted("TYPECASE_SEED", "1"),
            "--count",
            &wanted("TYPECASE_COUNT", "3000"),
        ])
        .output()
        .expect("the interpreter ran before");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).expect("JSON lines in ASCII");
    let (mut compared, mut different, mut unsupported) = (0, 0, 0);
    let mut report = String::new();
    for line in lines.lines() {
        let arena = Arena::new();
        let Ok(case) = json::parse_str(line, &arena) else {
            // Python has strings with half a surrogate pair, which are no text.
            continue;
        };
        let field = |name: &str| case.lookup(name).and_then(|value| value.as_str()).unwrap_or_default();
        compared += 1;
        match difference(field("template"), field("variables"), field("python")) {
            Ok(None) => {}
            Ok(Some(found)) => {
                different += 1;
                if different <= 200 {
                    let _ = writeln!(report, "{found}\n  with {}", field("variables"));
                }
            }
            Err(_) => unsupported += 1,
        }
    }
    println!("{compared} compared, {unsupported} of them not supported");
    assert_eq!(different, 0, "{different} of {compared} differ:\n{report}");
}
