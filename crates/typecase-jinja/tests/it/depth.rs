//! Templates that call themselves without end are refused before the stack ends, without optimisation as well.

use typecase_jinja::value::{Arena, json};
use typecase_jinja::{ErrorKind, Options, Template};

/// What comes of `source` in a thread with the stack that threads have by default.
fn kind(source: &str) -> Option<ErrorKind> {
    let source = source.to_owned();
    let run = move || {
        let template = Template::compile(&source).map_err(|error| error.kind())?;
        let arena = Arena::new();
        let values = json::parse_str(r#"{"s": "abc", "xs": [1, 2, 3]}"#, &arena).expect("JSON");
        let rendered = template.render(&values, &arena, &Options::default());
        rendered.map(drop).map_err(|error| error.kind())
    };
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(run);
    thread.expect("a thread").join().expect("no panic").err()
}

#[test]
fn calls_without_end_are_refused() {
    // Each call is as deep in statements and expressions as the parser takes.
    let statements = (
        "{% if true %}{% for x in xs %}{% with %}".repeat(20),
        "{% endwith %}{% endfor %}{% endif %}".repeat(20),
    );
    let expression = |call: &str| format!("{}{call}{}", "[(1 + (".repeat(20), "|length))]".repeat(20));
    for (what, source) in [
        ("macro", "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}".to_owned()),
        (
            "macro in an expression",
            "{% macro m() %}{{ m() ~ m()|upper }}{% endmacro %}{{ m() }}".to_owned(),
        ),
        (
            "macro in deep statements",
            format!(
                "{{% macro m() %}}{}{{{{ m() }}}}{}{{% endmacro %}}{{{{ m() }}}}",
                statements.0, statements.1
            ),
        ),
        (
            "macro in a deep expression",
            format!(
                "{{% macro m() %}}{{{{ {} }}}}{{% endmacro %}}{{{{ m() }}}}",
                expression("m()")
            ),
        ),
        ("default", "{% macro m(a=m()) %}{% endmacro %}{{ m() }}".to_owned()),
        (
            "default that is set later",
            "{% macro m(a=b()) %}{% endmacro %}{% set b = m %}{{ m() }}".to_owned(),
        ),
        (
            "caller",
            "{% macro m() %}{% call m() %}{{ caller() }}{% endcall %}{% endmacro %}{{ m() }}".to_owned(),
        ),
        (
            "callers",
            "{% macro m() %}{% call m() %}{% endcall %}{{ caller() }}{% endmacro %}{% call m() %}{% endcall %}"
                .to_owned(),
        ),
        (
            "two macros",
            "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ a() }}".to_owned(),
        ),
        (
            "loop",
            "{% for x in xs recursive %}{{ loop(xs) }}{% endfor %}".to_owned(),
        ),
        (
            "loop in an expression",
            "{% for x in xs recursive %}{{ loop(xs)|upper ~ 'a' }}{% endfor %}".to_owned(),
        ),
        ("block", "{% block b %}{{ self.b() }}{% endblock %}".to_owned()),
        (
            "set block",
            "{% macro m() %}{% set x %}{{ m() }}{% endset %}{% endmacro %}{{ m() }}".to_owned(),
        ),
        (
            "filter block",
            "{% macro m() %}{% filter upper %}{{ m() }}{% endfilter %}{% endmacro %}{{ m() }}".to_owned(),
        ),
        (
            "generation",
            "{% macro m() %}{% generation %}{{ m() }}{% endgeneration %}{% endmacro %}{{ m() }}".to_owned(),
        ),
        (
            "test of a loop",
            "{% macro m() %}{% for x in xs if m() %}{{ x }}{% endfor %}{% endmacro %}{{ m() }}".to_owned(),
        ),
        (
            "namespace",
            "{% set ns = namespace() %}{% macro m() %}{{ ns.f() }}{% endmacro %}{% set ns.f = m %}{{ m() }}".to_owned(),
        ),
    ] {
        let kind = kind(&source);
        assert!(
            matches!(
                kind,
                Some(ErrorKind::Recursion | ErrorKind::Limit | ErrorKind::Undefined)
            ),
            "{what}: {kind:?}"
        );
        assert!(
            kind != Some(ErrorKind::Undefined) || what == "filter block",
            "{what}: {kind:?}"
        );
    }
}

#[test]
fn lazy_values_in_one_another_are_refused() {
    for wrap in [
        "ns.x|map('string')",
        "ns.x|select",
        "ns.x|reject('none')",
        "ns.x|unique",
        "ns.x|batch(1)",
        "ns.x|map('list')",
    ] {
        let source = format!(
            "{{% set ns = namespace(x=xs) %}}{{% for i in range(50000) %}}{{% set ns.x = {wrap} %}}{{% endfor %}}{{{{ ns.x|list|length }}}}"
        );
        let kind = kind(&source);
        assert!(
            matches!(kind, None | Some(ErrorKind::Recursion | ErrorKind::Limit)),
            "{wrap}: {kind:?}"
        );
    }
}

#[test]
fn values_that_hold_one_another_are_refused() {
    let loops = "{% set ns = namespace() %}{% set ns.x = ns %}";
    for end in [
        "{{ ns }}",
        "{{ ns|string }}",
        "{{ [ns]|string }}",
        "{{ '%s' % ns }}",
        "{{ '{}'.format(ns) }}",
        "{{ ns|tojson }}",
        "{{ ns|pprint }}",
        "{{ ns == ns.x }}",
        "{{ {'a': ns} == {'a': ns} }}",
        "{{ ns|upper }}",
        "{{ ns|list }}",
        "{{ ns ~ '' }}",
        "{{ [ns]|join }}",
    ] {
        let kind = kind(&format!("{loops}{end}"));
        assert!(
            matches!(
                kind,
                None | Some(ErrorKind::Recursion | ErrorKind::Limit | ErrorKind::Type)
            ),
            "{end}: {kind:?}"
        );
    }
}
