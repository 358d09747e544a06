//! Hostile sizes end in a typed error before anything large is made.

use std::time::{Duration, Instant};
use typecase_jinja::value::{Arena, json};
use typecase_jinja::{ErrorKind, LocalTime, Options, Template};

fn kind(source: &str) -> Option<ErrorKind> {
    let mut options = Options::default();
    options.max_memory_bytes = 1 << 24;
    options.max_work = 1 << 24;
    options.now = Some(LocalTime::from_unix(0, 0, 0));
    let template = Template::compile(source).expect(source);
    let arena = Arena::new();
    let values = json::parse_str(r#"{"s": "abc", "xs": [1, 2, 3], "n": 10}"#, &arena).expect("JSON");
    let result = template.render(&values, &arena, &options);
    assert!(
        arena.allocated_bytes() < 1 << 27,
        "{source} allocated {}",
        arena.allocated_bytes()
    );
    result.err().map(|error| error.kind())
}

#[test]
fn large_results_are_refused_before_they_are_made() {
    for source in [
        "{{ s * 10**9 }}",
        "{{ s * n**9 }}",
        "{{ xs * n**9 }}",
        "{{ n ** (n ** 9) }}",
        "{{ (n ** 1000) ** 1000 }}",
        "{{ s.center(n**9) }}",
        "{{ s.ljust(n**9) }}",
        "{{ s.zfill(n**9) }}",
        "{{ s|center(n**9) }}",
        "{{ '\t'.expandtabs(n**9) }}",
        "{{ '%1000000000d' % n }}",
        "{{ '%.1000000000f' % n }}",
        "{{ '%*d' % (n**9, 1) }}",
        "{{ '{:1000000000}'.format(n) }}",
        "{{ '{:.1000000000f}'.format(n) }}",
        "{{ '{:{}}'.format(s, n**9) }}",
        "{{ xs|tojson(indent=n**9) }}",
        "{{ s|indent(n**9) }}",
        "{{ (s * 2000).replace('', s * 2000) }}",
        "{{ (s * 2000).join((s * 2000)|list) }}",
        "{{ ((s * 2000)|list)|join(s * 2000) }}",
        "{{ strftime_now('%Y' * 600000) }}",
        "{{ strftime_now('%1023d' * 100000) }}",
        "{{ xs|batch(n**9, 0)|list }}",
        "{{ (s * 10000).translate({97: s * 10000}) }}",
        "{% for i in range(10**5) %}{% set s = s ~ s %}{{ (s * 100000)|upper|length }}{% endfor %}",
    ] {
        assert_eq!(kind(source), Some(ErrorKind::Limit), "{source}");
    }
}

#[test]
fn a_format_of_many_runs_is_printed_in_one_pass() {
    // Quadratic work took minutes.
    assert_eq!(kind("{{ strftime_now('%Y-' * 200000)|length }}"), None);
}

#[test]
fn values_that_hold_themselves_many_times_over_are_bounded() {
    // A list of 2 ** 60 items in 60 lists.
    let doubled = "{% set ns = namespace(x=xs) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}";
    for end in [
        "{{ ns.x }}",
        "{{ ns.x|tojson }}",
        "{{ ns.x|tojson(indent=1) }}",
        "{{ ns.x|string|length }}",
        "{{ ns.x|pprint }}",
        "{{ '%s' % (ns.x,) }}",
        "{{ '{}'.format(ns.x) }}",
        "{{ ns.x == [ns.x[0], ns.x[0] + []] }}",
    ] {
        let source = format!("{doubled}{end}");
        assert_eq!(kind(&source), Some(ErrorKind::Limit), "{source}");
    }
}

#[test]
fn deep_values_are_an_error_and_no_overflow_of_the_stack() {
    let deep = "{% set ns = namespace(x=xs, y=xs) %}{% for i in range(20000) %}{% set ns.x = [ns.x] %}\
                {% set ns.y = [ns.y] %}{% endfor %}";
    for end in [
        "{{ ns.x }}",
        "{{ ns.x|tojson }}",
        "{{ ns.x == ns.y }}",
        "{{ ns.x < ns.y }}",
        "{{ ns.x in [ns.y] }}",
    ] {
        let source = format!("{deep}{end}");
        assert!(
            matches!(kind(&source), Some(ErrorKind::Recursion | ErrorKind::Limit)),
            "{source}: {:?}",
            kind(&source)
        );
    }
}

#[test]
fn the_defaults_refuse_what_no_request_needs() {
    for source in [
        "{{ 'a' * 10**9 }}",
        "{{ [0] * 10**8 }}",
        "{{ 10 ** (10 ** 9) }}",
        "{% set ns = namespace(s='ab') %}{% for i in range(60) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
        "{% set s = 'a' * 10**6 %}{% for i in range(10**5) %}{{ s }}{% endfor %}",
    ] {
        let template = Template::compile(source).expect(source);
        let arena = Arena::new();
        let values = json::parse_str("{}", &arena).expect("JSON");
        let error = template.render(&values, &arena, &Options::default()).expect_err(source);
        assert_eq!(error.kind(), ErrorKind::Limit, "{source}: {error}");
    }
}

#[test]
fn a_large_request_may_take_more() {
    let template = Template::compile(
        "{% for m in messages %}{% set c = '[' + m.content|upper + ']' %}{{ c|trim }}{{ m|tojson }}{% endfor %}",
    )
    .expect("a template");
    let content = "abcdefgh".repeat(250_000);
    let message = format!(r#"{{"role": "user", "content": "{content}"}}"#);
    let request = format!(r#"{{"messages": [{}]}}"#, vec![message; 50].join(","));
    let render = |options: &Options| {
        let arena = Arena::new();
        let values = json::parse_str(&request, &arena).expect("JSON");
        template
            .render(&values, &arena, options)
            .map(|rendered| rendered.text.len())
    };
    let mut options = Options::default();
    options.max_work = 1 << 20;
    options.max_memory_bytes = 1 << 20;
    options.max_output_bytes = 1 << 20;
    assert!(render(&options).is_ok_and(|len| len > 2 * 50 * content.len()));
    options.growth_per_byte = 0;
    assert_eq!(render(&options).map_err(|error| error.kind()), Err(ErrorKind::Limit));
}

fn repeated(len: usize, piece: impl Fn(usize) -> String) -> String {
    let mut out = String::new();
    for i in 0.. {
        if out.len() >= len {
            break;
        }
        out.push_str(&piece(i));
    }
    out
}

/// Names, branches, blocks, macros and assignments without end. Without optimisation a smaller template has to do.
#[test]
fn hostile_templates_compile_in_time() {
    let len = if cfg!(debug_assertions) { 32 << 10 } else { 1 << 20 };
    let names = repeated(len / 2, |i| format!("{{{{a{i}}}}}"));
    let sets = repeated(len / 2, |i| format!("{{%set a{i}=1%}}"));
    let (open, close) = ("{%if a%}".repeat(100), "{%endif%}".repeat(100));
    for (what, source) in [
        (
            "names and ifs",
            names.clone() + &repeated(len / 2, |_| "{%if a%}{%endif%}".into()),
        ),
        (
            "sets and ifs",
            sets.clone() + &repeated(len / 2, |i| format!("{{%if a{i}%}}{{%set b{i}=1%}}{{%endif%}}")),
        ),
        ("sets in ifs", format!("{open}{sets}{close}")),
        ("names in ifs", format!("{open}{names}{names}{close}")),
        (
            "elifs",
            format!(
                "{{%if a%}}{}{{%endif%}}",
                repeated(len, |i| format!("{{%elif b{i}%}}{{%set c{i}=1%}}"))
            ),
        ),
        (
            "names and loops",
            names.clone() + &repeated(len / 2, |i| format!("{{%for x in a{i}%}}{{{{x}}}}{{%endfor%}}")),
        ),
        (
            "macros",
            repeated(len, |i| {
                format!("{{%macro m{i}(a)%}}{{{{a}}}}{{%endmacro%}}{{{{m{i}(a)}}}}")
            }),
        ),
        (
            "names and blocks",
            sets.clone() + &repeated(len / 2, |i| format!("{{%block b{i}%}}{{{{a{i}}}}}{{%endblock%}}")),
        ),
        (
            "scoped blocks",
            repeated(len, |i| format!("{{%block b{i} scoped%}}{{{{a{i}}}}}{{%endblock%}}")),
        ),
        (
            "chained aliases",
            repeated(len, |i| format!("{{%set a{i}=a{}%}}", i + 1)) + "{%set a9=x.content%}",
        ),
        (
            "withs",
            format!("{}{names}{}", "{%with%}".repeat(100), "{%endwith%}".repeat(100)),
        ),
        (
            "macros in macros",
            format!("{}{names}{}", "{%macro m()%}".repeat(99), "{%endmacro%}".repeat(99)),
        ),
        ("strings", repeated(len, |i| format!("{{{{'\\n{i}'}}}}"))),
        ("one list", format!("{{{{[{}]}}}}", repeated(len, |i| format!("{i},")))),
        (
            "one dict",
            format!("{{{{{{{}}}}}}}", repeated(len, |i| format!("'k{i}':{i},"))),
        ),
        ("open braces", "{{".repeat(len / 2)),
        ("open comments", "{#".repeat(len / 2)),
        ("open strings", "{{'".repeat(len / 3)),
        ("raw", "{%raw%}".repeat(len / 7)),
        ("newlines", "{% if a %}\n{% endif %}\n".repeat(len / 22)),
    ] {
        let start = Instant::now();
        let compiled = Template::compile(&source);
        let took = start.elapsed();
        println!(
            "{what}: {took:?} ({})",
            if compiled.is_ok() { "compiled" } else { "refused" }
        );
        assert!(took < Duration::from_secs(2), "{what}: {took:?}");
    }
}

/// At the limits of the parser, in a thread with a small stack and without optimisation too.
#[test]
fn deep_templates_compile_on_a_small_stack() {
    let nested = |open: &str, inner: &str, close: &str, depth: usize| {
        format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
    };
    let deepest: Vec<String> = [
        ("(a or b and not c < d + e ~ f * g ** -", ")", 37),
        ("f(a|g(", "))", 50),
        ("[", "]", 99),
        ("{a:", "}", 99),
        ("", ".b", 499),
        ("", "|f", 499),
        ("not ", "", 299),
    ]
    .iter()
    .map(|(open, close, depth)| format!("{{{{ {} }}}}", nested(open, "a", close, *depth)))
    .collect();
    for (open, close) in [
        ("{% if a %}", "{% endif %}"),
        ("{% macro a() %}", "{% endmacro %}"),
        ("{% set a %}", "{% endset %}"),
        ("{% with %}", "{% endwith %}"),
        ("{% filter upper %}", "{% endfilter %}"),
        ("{% call f() %}", "{% endcall %}"),
        ("{% generation %}", "{% endgeneration %}"),
    ] {
        for inner in &deepest {
            for depth in [1, 99, 127] {
                let source = nested(open, inner, close, depth);
                let thread = std::thread::Builder::new().stack_size(2 << 20);
                let compiled = thread.spawn(move || Template::compile(&source).map(drop).map_err(|error| error.kind()));
                let compiled = compiled.expect("a thread").join().expect("no panic");
                assert!(
                    matches!(compiled, Ok(()) | Err(ErrorKind::Syntax)),
                    "{open} {inner}: {compiled:?}"
                );
            }
        }
    }
}
