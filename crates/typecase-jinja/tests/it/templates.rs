//! Random templates, compared with a live Python (`tests/differential/templates.py`).
//!
//! `TYPECASE_ORACLE_PYTHON` names the interpreter (`python3` without it), which needs transformers 5 and jinja2 3.1.6;
//! without those the test says so and passes. `TYPECASE_SEED` and `TYPECASE_COUNT` choose another or a longer run;
//! `TYPECASE_CASES` names a file with what an earlier run of the script wrote.

use super::language::is_kind;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::ops::Range;
use std::path::Path;
use std::process::{Command, Stdio};
use typecase_jinja::value::{Arena, Origin, Value, json};
use typecase_jinja::{Error, ErrorKind, LocalTime, Options, Rendered, Template};

/// Differences that are printed.
const SHOWN: usize = 200;

/// `\\U0001f600`, or a surrogate pair as JSON spells it.
const LONGEST_ESCAPE: usize = 12;

/// The clock of the script.
const NOW: LocalTime = LocalTime {
    year: 2026,
    month: 3,
    day: 14,
    hour: 15,
    minute: 9,
    second: 26,
    microsecond: 535_897,
    utc_offset_seconds: 0,
};

#[test]
fn templates_give_what_transformers_gives() {
    let wanted = |name: &str, default: &str| std::env::var(name).unwrap_or_else(|_| default.to_owned());
    if let Ok(cases) = std::env::var("TYPECASE_CASES") {
        return compare(File::open(cases).expect("a file of cases"));
    }
    let python = wanted("TYPECASE_ORACLE_PYTHON", "python3");
    let has_oracle = Command::new(&python)
        .args([
            "-c",
            "import jinja2, transformers; assert jinja2.__version__ == '3.1.6'",
        ])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !has_oracle {
        println!("skipped: {python} has no transformers with jinja2 3.1.6");
        return;
    }
    let mut oracle = Command::new(&python)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/differential/templates.py"))
        .args([
            "--seed",
            &wanted("TYPECASE_SEED", "1"),
            "--count",
            &wanted("TYPECASE_COUNT", "4000"),
        ])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the interpreter ran before");
    compare(oracle.stdout.take().expect("a pipe was asked for"));
    assert!(oracle.wait().is_ok_and(|status| status.success()), "the script failed");
}

fn compare(cases: impl Read) {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut different = 0;
    let mut report = String::new();
    for (number, line) in BufReader::new(cases).lines().enumerate() {
        let line = line.expect("JSON lines in ASCII");
        let arena = Arena::new();
        let Ok(case) = json::parse_str(&line, &arena) else {
            // Python has strings with half a surrogate pair, which are no text.
            *counts.entry("no text".to_owned()).or_default() += 1;
            continue;
        };
        let outcome = match difference(&case) {
            Ok(outcome) => outcome,
            Err(how) => {
                different += 1;
                if different <= SHOWN {
                    let _ = writeln!(
                        report,
                        "--- case {number}\n{}\n  with {}\n{how}",
                        text(&case, "template"),
                        text(&case, "variables")
                    );
                }
                "DIFFERENT".to_owned()
            }
        };
        *counts.entry(outcome).or_default() += 1;
    }
    #[expect(clippy::print_stdout, reason = "what a test prints is for who runs it")]
    {
        println!("{counts:?}");
    }
    assert_eq!(different, 0, "{different} differ:\n{report}");
}

fn text<'a>(case: &Value<'a>, name: &str) -> &'a str {
    case.lookup(name).and_then(|value| value.as_str()).unwrap_or_default()
}

/// What to count the case as, or how it differs from what Python gave.
fn difference(case: &Value<'_>) -> Result<String, String> {
    let (source, variables) = (text(case, "template"), text(case, "variables"));
    let options = Options::default().now(NOW);
    let got = render(source, variables, &options, check_runs);
    let untracked = render(source, variables, &options.clone().provenance(false), |_, _, _| Ok(()));
    match (&got, &untracked) {
        (Ok(a), Ok(b)) if a.text == b.text && a.generation == b.generation && b.runs.is_empty() => {}
        (Err(Failure::Error(a)), Err(Failure::Error(b))) if a.kind() == b.kind() && a.position() == b.position() => {}
        (Err(Failure::Broken(how)), _) => return Err(format!("  provenance: {how}")),
        (a, b) => return Err(format!("  with and without provenance:\n  {a:?}\n  {b:?}")),
    }
    let error = case.lookup("error");
    match (got, error) {
        (Ok(rendered), None) => {
            let expected = text(case, "text");
            if rendered.text != expected {
                return Err(format!("  python: {expected:?}\n  gave:   {:?}", rendered.text));
            }
            let spans = spans(case);
            let given: Vec<_> = rendered
                .generation
                .iter()
                .map(|span| chars(&rendered.text, span))
                .collect();
            // What a span says of a block in a macro may lie beyond the text.
            let len = expected.chars().count();
            let clamped: Vec<_> = spans
                .iter()
                .map(|span| span.start.min(len)..span.end.min(len))
                .collect();
            if given != clamped {
                return Err(format!(
                    "  text:   {expected:?}\n  python: {spans:?}\n  gave:   {given:?}"
                ));
            }
            Ok("text".to_owned())
        }
        (Err(Failure::Error(error)), _) if error.kind() == ErrorKind::Unsupported => {
            Ok(format!("unsupported: {}", error.message()))
        }
        (Err(Failure::Error(error)), Some(python)) => {
            let name = text(&python, "type");
            let message = text(&python, "message");
            let same = is_kind(error.kind(), name) || name == "SyntaxError" && error.kind() == ErrorKind::Syntax;
            if !same || name == "TemplateError" && message != error.message() {
                return Err(format!("  python: !{name}: {message}\n  gave:   {error:?}"));
            }
            // At the end Python names the line where the last text begins.
            let at_end = message.starts_with("Unexpected end of template") || message.starts_with("Missing end of raw");
            if let (Some(Value::Int(line, _)), Some(position)) = (python.lookup("line"), error.position())
                && line != i64::from(position.line)
                && !at_end
            {
                return Err(format!(
                    "  python: line {line}: !{name}: {message}\n  gave:   {error:?}"
                ));
            }
            Ok(name.to_owned())
        }
        (Ok(rendered), Some(python)) => Err(format!(
            "  python: !{}: {}\n  gave:   {:?}",
            text(&python, "type"),
            text(&python, "message"),
            rendered.text
        )),
        (Err(failure), _) => Err(format!("  python: {:?}\n  gave:   {failure:?}", text(case, "text"))),
    }
}

#[derive(Debug)]
enum Failure {
    Error(Error),
    /// What is wrong with the provenance.
    Broken(String),
}

fn render(
    source: &str,
    variables: &str,
    options: &Options,
    check: impl Fn(&Template, &str, &Rendered) -> Result<(), String>,
) -> Result<Rendered, Failure> {
    let template = Template::compile(source).map_err(Failure::Error)?;
    let arena = Arena::new();
    let values = json::parse_str(variables, &arena).expect("variables are JSON");
    let rendered = template.render(&values, &arena, options).map_err(Failure::Error)?;
    check(&template, variables, &rendered).map_err(Failure::Broken)?;
    Ok(rendered)
}

/// Runs lie end to end and cover the text. Bytes of one of the template's literals stand in its source.
fn check_runs(template: &Template, variables: &str, rendered: &Rendered) -> Result<(), String> {
    let mut start = 0;
    for run in &rendered.runs {
        if run.end <= start || !rendered.text.is_char_boundary(run.end) {
            return Err(format!("a run ends at {} and the next at {}", start, run.end));
        }
        let last = run.origin.plus(run.end - start - 1);
        let written = &rendered.text[start..run.end];
        // What is escaped grows, and is still from where the one character is from.
        let grown = written.len() <= LONGEST_ESCAPE;
        if run.origin != Origin::COMPUTED && !grown && template.wrote(run.origin) != template.wrote(last) {
            return Err(format!(
                "{written:?} begins in the template and ends outside, or the other way round"
            ));
        }
        let request = variables.as_ptr() as usize..variables.as_ptr() as usize + variables.len();
        if request.contains(&run.origin.0) && !grown && !request.contains(&last.0) {
            return Err(format!("{written:?} ends behind the request"));
        }
        start = run.end;
    }
    if start != rendered.text.len() {
        return Err(format!("runs end at {start} of {}", rendered.text.len()));
    }
    Ok(())
}

fn spans(case: &Value<'_>) -> Vec<Range<usize>> {
    let Some(Value::List(spans)) = case.lookup("spans") else {
        return Vec::new();
    };
    let int = |value: Option<&Value<'_>>| match value {
        Some(Value::Int(int, _)) => usize::try_from(*int).unwrap_or(usize::MAX),
        _ => usize::MAX,
    };
    spans
        .items()
        .iter()
        .map(|span| match span {
            Value::List(ends) => int(ends.items().first())..int(ends.items().get(1)),
            _ => usize::MAX..usize::MAX,
        })
        .collect()
}

fn chars(text: &str, bytes: &Range<usize>) -> Range<usize> {
    let count = |end: usize| text[..end].chars().count();
    count(bytes.start)..count(bytes.end)
}

/// transformers makes a call block of it, whose body is a macro without parameters.
#[test]
fn a_generation_block_has_the_names_of_a_macro() {
    let source =
        "{% generation %}{{ varargs }}{{ kwargs }}{{ caller is defined }}{% set x = 1 %}{% endgeneration %}{{ x }}";
    let rendered = render(
        source,
        r#"{"kwargs": 1, "varargs": 2, "caller": 3}"#,
        &Options::default(),
        check_runs,
    );
    assert_eq!(
        rendered.map(|rendered| rendered.text).ok().as_deref(),
        Some("(){}False")
    );
}

#[test]
fn text_in_a_printed_namespace_is_still_the_requests() {
    let variables = r#"{"s": "<|im_end|>"}"#;
    for source in [
        "{% set ns = namespace(x=s) %}{{ ns }}",
        "{% set ns = namespace(x=s) %}{{ [ns] }}",
        "{% set ns = namespace(x=s) %}{{ ns ~ '' }}",
    ] {
        let template = Template::compile(source).expect(source);
        let arena = Arena::new();
        let values = json::parse_str(variables, &arena).expect("JSON");
        let rendered = template.render(&values, &arena, &Options::default()).expect(source);
        let at = rendered.text.find("<|im_end|>").expect(source);
        let run = rendered.runs.iter().find(|run| run.end > at).expect(source);
        assert!(
            run.origin != Origin::COMPUTED && !template.wrote(run.origin),
            "{source}: {:?}",
            rendered.runs
        );
    }
}

#[test]
fn no_address_of_this_process_is_printed() {
    let source =
        "{{ s.split }}{{ d.items }}{{ xs.index }}{{ range }}{{ cycler(1) }}{{ xs|select }}{{ [joiner(), s.upper] }}";
    let variables = r#"{"s": "a", "d": {}, "xs": []}"#;
    let texts: Vec<_> = (0..2)
        .map(|_| {
            render(source, variables, &Options::default(), check_runs)
                .map(|rendered| rendered.text)
                .ok()
        })
        .collect();
    assert!(texts[0].is_some());
    assert_eq!(texts[0], texts[1]);
}
