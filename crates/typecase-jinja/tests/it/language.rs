//! The cases in `tests/language/*.md`: what Python gave, written there by `scripts/language_cases.py`.

use std::fmt::Write;
use std::path::Path;
use typecase_jinja::value::{Arena, json};
use typecase_jinja::{ErrorKind, Options, Template};

/// What a template gave: text, or the kind of the error.
pub(crate) fn outcome(source: &str, variables: &str) -> Result<String, (ErrorKind, String)> {
    let failed = |error: typecase_jinja::Error| (error.kind(), error.message().to_owned());
    let template = Template::compile(source).map_err(failed)?;
    let arena = Arena::new();
    let values = json::parse_str(variables, &arena).expect("variables are JSON");
    let rendered = template.render(&values, &arena, &Options::default()).map_err(failed)?;
    let mut covered = 0;
    for run in &rendered.runs {
        assert!(run.end > covered, "empty run in {source}");
        covered = run.end;
    }
    assert_eq!(covered, rendered.text.len(), "runs cover the text of {source}");
    Ok(rendered.text)
}

/// Whether `kind` is the exception that Python calls `name`.
pub(crate) fn is_kind(kind: ErrorKind, name: &str) -> bool {
    match name {
        "TypeError" => kind == ErrorKind::Type,
        "ValueError" => kind == ErrorKind::Value,
        "KeyError" => kind == ErrorKind::Key,
        "IndexError" => kind == ErrorKind::Index,
        "AttributeError" => kind == ErrorKind::Attribute,
        "ZeroDivisionError" => kind == ErrorKind::ZeroDivision,
        "OverflowError" => matches!(kind, ErrorKind::Overflow | ErrorKind::Limit),
        "MemoryError" => kind == ErrorKind::Limit,
        "RecursionError" => matches!(kind, ErrorKind::Recursion | ErrorKind::Limit),
        "UndefinedError" => kind == ErrorKind::Undefined,
        "SecurityError" => kind == ErrorKind::Security,
        "TemplateSyntaxError" | "TemplateAssertionError" | "SyntaxError" => kind == ErrorKind::Syntax,
        "TemplateError" => kind == ErrorKind::RaiseException,
        "TemplateRuntimeError" | "FilterArgumentError" | "AssertionError" => kind == ErrorKind::Runtime,
        _ => false,
    }
}

/// Compares with what Python gave: a text, or `!Name: message`. What is not supported is no difference, but counted.
pub(crate) fn difference(source: &str, variables: &str, python: &str) -> Result<Option<String>, String> {
    let got = outcome(source, variables);
    let error = python
        .strip_prefix('!')
        .map(|error| error.split_once(": ").unwrap_or((error, "")));
    match (&got, error) {
        (Ok(text), None) if text == python => Ok(None),
        (Err((kind, _)), Some((name, _))) if is_kind(*kind, name) => Ok(None),
        // Nor is a bound, which Python has not.
        (Err((ErrorKind::Unsupported | ErrorKind::Limit, message)), _) => Err(message.clone()),
        (Ok(text), _) => Ok(Some(format!("{source}\n  python: {python:?}\n  gave:   {text:?}"))),
        (Err((kind, message)), _) => Ok(Some(format!(
            "{source}\n  python: {python:?}\n  gave:   !{kind:?}: {message}"
        ))),
    }
}

/// One case of a file.
#[derive(Default)]
struct Case {
    heading: String,
    lines: bool,
    template: String,
    variables: String,
    python: String,
}

fn cases(text: &str) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut case = Case::default();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(heading) = line.strip_prefix("## ") {
            case = Case {
                heading: heading.to_owned(),
                variables: "{}".to_owned(),
                ..Case::default()
            };
        } else if let Some(info) = line.strip_prefix("```") {
            let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            let block = block.join("\n");
            match info.split(' ').next() {
                Some("jinja") => {
                    case.lines = info == "jinja lines";
                    case.template = block;
                }
                Some("json") => case.variables = block,
                Some("text") => {
                    case.python = block;
                    cases.push(std::mem::take(&mut case));
                    case.variables = "{}".to_owned();
                }
                _ => {}
            }
        }
    }
    cases
}

fn unescaped(line: &str) -> String {
    let arena = Arena::new();
    let value = json::parse_str(&format!("\"{line}\""), &arena).expect("an escaped line");
    value.as_str().unwrap_or_default().to_owned()
}

#[test]
fn templates_give_what_python_gave() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/language");
    let mut report = String::new();
    let (mut compared, mut different, mut unsupported) = (0, 0, 0);
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .expect("the folder of the cases")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    files.sort();
    for path in files {
        let text = std::fs::read_to_string(&path).expect("a file of cases");
        for case in cases(&text) {
            let pairs: Vec<(String, String)> = match case.lines {
                false => vec![(case.template.clone(), case.python.clone())],
                true => case
                    .template
                    .lines()
                    .zip(case.python.lines())
                    .map(|(line, python)| {
                        let is_template = line.contains("{{") || line.contains("{%");
                        let template = if is_template {
                            line.to_owned()
                        } else {
                            format!("{{{{ {line} }}}}")
                        };
                        (template, unescaped(python))
                    })
                    .collect(),
            };
            for (template, python) in pairs {
                compared += 1;
                match difference(&template, &case.variables, &python) {
                    Ok(None) => {}
                    Ok(Some(difference)) => {
                        different += 1;
                        let _ = writeln!(report, "{}: {}: {difference}", path.display(), case.heading);
                    }
                    Err(message) => {
                        unsupported += 1;
                        println!("not supported: {template}: {message}");
                    }
                }
            }
        }
    }
    println!("{compared} compared, {unsupported} of them not supported");
    assert_eq!(different, 0, "{different} of {compared} differ:\n{report}");
}
