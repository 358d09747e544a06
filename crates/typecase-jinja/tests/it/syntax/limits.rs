//! Deep and long templates: an error or a tree, never the end of the stack.

use typecase_jinja::syntax::{self, SyntaxErrorKind};

/// Whether `source` is taken; a stack of 2 MiB has to be enough for it, without optimisation as well.
fn is_taken(source: String) -> bool {
    let run = move || match syntax::parse(&source) {
        Ok(_) => true,
        Err(error) => {
            assert!(matches!(error.kind(), SyntaxErrorKind::TooDeep { .. }), "{error}");
            false
        }
    };
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(run);
    thread.expect("a thread").join().expect("no panic")
}

fn nested(open: &str, inner: &str, close: &str, depth: usize) -> String {
    format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
}

fn output(expression: &str) -> String {
    format!("{{{{ {expression} }}}}")
}

/// The depth that Python takes, by trial (Jinja2 3.1.6, CPython 3.11); a lot more is refused.
#[test]
fn deep_expressions() {
    for (open, inner, close, python) in [
        ("(", "a", ")", 69),
        ("[", "a", "]", 79),
        ("f(", "a", ")", 69),
        ("{a:", "a", "}", 69),
        ("a[", "a", "]", 69),
        ("a|f(a is t(", "a", "))", 34),
        ("(a or b and not c < d + e ~ f * g ** -", "a", ")", 24),
        ("", "a", "+a", 199),
        ("", "a", "|f", 199),
        ("", "a", ".b", 199),
        ("", "a", "[0]", 199),
        ("", "a", "()", 199),
        ("", "a", " is b and a", 199),
        ("not ", "a", "", 199),
        ("- ", "a", "", 199),
        ("a if b else ", "a", "", 199),
    ] {
        for depth in [1, python] {
            let source = output(&nested(open, inner, close, depth));
            assert!(is_taken(source), "{depth} of {open:?} {close:?}");
        }
        for depth in [120, 600, 20_000] {
            is_taken(output(&nested(open, inner, close, depth)));
        }
    }
}

#[test]
fn chains_of_one_operator_have_no_limit_where_they_are_flat() {
    for chain in [" or b", " and b", " ~ b", " < b"] {
        assert!(is_taken(output(&format!("a{}", chain.repeat(20_000)))), "{chain}");
    }
    assert!(is_taken(format!(
        "{{% if a %}}{}{{% endif %}}",
        "{% elif b %}".repeat(20_000)
    )));
}

#[test]
fn deep_statements() {
    let deepest = nested("(", "a", ")", 69);
    for (open, close, python) in [
        ("{% if a %}", "{% endif %}", 99),
        ("{% if a %}{% else %}", "{% endif %}", 99),
        ("{% macro a() %}", "{% endmacro %}", 99),
        ("{% set a %}", "{% endset %}", 99),
        ("{% with %}", "{% endwith %}", 99),
        ("{% filter f %}", "{% endfilter %}", 99),
        ("{% call f() %}", "{% endcall %}", 50),
        ("{% generation %}", "{% endgeneration %}", 50),
        ("{% autoescape a %}", "{% endautoescape %}", 99),
    ] {
        for depth in [1, python] {
            let source = nested(open, &output(&deepest), close, depth);
            assert!(is_taken(source), "{depth} of {open}");
        }
        for depth in [127, 129, 20_000] {
            is_taken(nested(open, &output(&deepest), close, depth));
        }
    }
    // All limits at once.
    let operations = nested("(a or b and not c < d + e ~ f * g ** -", "a", ")", 37);
    is_taken(nested("{% if a %}", &output(&operations), "{% endif %}", 128));
    is_taken(nested(
        "{% if a %}",
        &output(&nested("f(a|g(", "a", "))", 50)),
        "{% endif %}",
        128,
    ));
    let loops = |depth| syntax::parse(&nested("{% for a in b %}", "", "{% endfor %}", depth)).is_ok();
    assert!(loops(20) && !loops(21));
}

proptest::proptest! {
    /// No text makes the parser panic, and errors lie within the text.
    #[test]
    fn any_text_is_a_template_or_an_error(
        source in "(\\{\\{|\\}\\}|\\{%|%\\}|\\{#|#\\}|raw|endraw|[-+ \t\n\r'\"\\\\.0-9_xNu{}e²é😀()\\[\\],|:=~!a-c]){0,40}",
    ) {
        let source = syntax::normalize(&source);
        if let Err(error) = syntax::parse(&source) {
            let lines = source.split('\n').count();
            proptest::prop_assert!(error.line() as usize <= lines);
            proptest::prop_assert!(error.span().column(&source) == error.column());
            proptest::prop_assert!(!error.to_string().is_empty());
        }
    }
}
