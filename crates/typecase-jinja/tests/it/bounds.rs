//! Hostile sizes end in a typed error before anything large is made.

use typecase_jinja::value::{Arena, json};
use typecase_jinja::{ErrorKind, Options, Template};

fn kind(source: &str) -> Option<ErrorKind> {
    let mut options = Options::default();
    options.max_memory_bytes = 1 << 24;
    options.max_work = 1 << 24;
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
        "{{ xs|batch(n**9, 0)|list }}",
        "{{ (s * 10000).translate({97: s * 10000}) }}",
        "{% for i in range(10**5) %}{% set s = s ~ s %}{{ (s * 100000)|upper|length }}{% endfor %}",
    ] {
        assert_eq!(kind(source), Some(ErrorKind::Limit), "{source}");
    }
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
