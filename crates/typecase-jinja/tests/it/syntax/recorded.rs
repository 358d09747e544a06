//! Trees as Jinja2 3.1.6 gave them, for where there is no Python to ask: written by `conformance/oracle/ast_dump.py`.

use super::dump;
use typecase_jinja::syntax;

/// What a template shows, its source, and Jinja's tree.
#[rustfmt::skip]
const RECORDED: &[(&str, &str, &str)] = &[
    (
        "a signed border strips white space, whatever it is",
        "a \u{3000}\u{1c}\n{{- x -}}\u{85}\u{2003} b",
        "[(Output [(data 1 \"a\") (name \"x\") (data 2 \"b\")])]",
    ),
    (
        "an indented tag at the start of a line leaves no indent",
        "a\n\t {% if x %}\n  b\n  {%- endif %}\nc",
        "[(Output [(data 1 \"a\\{a}\")]) (If 2 [((name \"x\") [(Output [(data 3 \"  b\")])])] []) (Output [(data 5 \"c\")])]",
    ),
    (
        "a plus keeps the indent",
        "a\n  {%+ if x +%}\n  {% endif %}",
        "[(Output [(data 1 \"a\\{a}  \")]) (If 2 [((name \"x\") [(Output [(data 2 \"\\{a}\")])])] [])]",
    ),
    (
        "an indent after a tag that ate the newline goes as well",
        "{% if x %}\n  {% if y %}z{% endif %}{% endif %}",
        "[(If 1 [((name \"x\") [(If 2 [((name \"y\") [(Output [(data 2 \"z\")])])] [])])] [])]",
    ),
    (
        "an indent after an expression stays",
        "{{ x }}  {% if y %}z{% endif %}",
        "[(Output [(name \"x\") (data 1 \"  \")]) (If 1 [((name \"y\") [(Output [(data 1 \"z\")])])] [])]",
    ),
    (
        "an indent at the start of the template goes",
        "  {% set x = 1 %}\n\n",
        "[(Set 1 (name \"x\") (int 1))]",
    ),
    (
        "a comment takes its newline and its indent",
        "a\n  {# c #}\n b{#- d -#}\n c",
        "[(Output [(data 1 \"a\\{a}\") (data 3 \" b\") (data 4 \"c\")])]",
    ),
    (
        "a raw block keeps braces and loses white space as its borders say",
        "a {%- raw -%}\n {{ x }} {% y %}\n  {% endraw %}\nb",
        "[(Output [(data 1 \"a\") (data 2 \"{{ x }} {% y %}\\{a}\") (data 4 \"b\")])]",
    ),
    (
        "an empty template with one newline is empty",
        "\r\n",
        "[]",
    ),
    (
        "all newlines become one kind",
        "a\r\nb\rc\n\n",
        "[(Output [(data 1 \"a\\{a}b\\{a}c\\{a}\")])]",
    ),
    (
        "no operator is lost between brackets",
        "{{ {'a': {}}}}{{ -x }}{{-x}}",
        "[(Output [(Dict [(\"a\" (Dict []))]) (Neg (name \"x\")) (name \"x\")])]",
    ),
    (
        "power groups to the left and filters come after signs",
        "{{ -2**2**3|abs }}",
        "[(Output [(Pow (Pow (Neg (int 2)) (int 2)) (Filter (int 3) \"abs\" [] [] - -))])]",
    ),
    (
        "sums bind looser than joins",
        "{{ a + b ~ c * d - e }}",
        "[(Output [(Sub (Add (name \"a\") (Concat [(name \"b\") (Mul (name \"c\") (name \"d\"))])) (name \"e\"))])]",
    ),
    (
        "comparisons chain",
        "{{ a < b == c not in d }}",
        "[(Output [(Compare (name \"a\") [(lt (name \"b\")) (eq (name \"c\")) (notin (name \"d\"))])])]",
    ),
    (
        "not binds looser than comparisons and tests",
        "{{ not a is defined and not b in c }}",
        "[(Output [(And (Not (Test (name \"a\") \"defined\" [] [] - -)) (Not (Compare (name \"b\") [(in (name \"c\"))])))])]",
    ),
    (
        "a conditional may lack its else and may continue in it",
        "{{ a if b else c if d }}{{ (a if b) if c else d }}",
        "[(Output [(Cond (name \"b\") (name \"a\") (Cond (name \"d\") (name \"c\") -)) (Cond (name \"c\") (Cond (name \"b\") (name \"a\") -) (name \"d\"))])]",
    ),
    (
        "a test takes one argument without brackets",
        "{{ a is divisibleby 3 and b is not in [1] or c is equalto x.y }}",
        "[(Output [(Or (And (Test (name \"a\") \"divisibleby\" [(int 3)] [] - -) (Not (Test (name \"b\") \"in\" [(List [(int 1)])] [] - -))) (Test (name \"c\") \"equalto\" [(Getattr (name \"x\") \"y\")] [] - -))])]",
    ),
    (
        "filters chain, with dots in names",
        "{{ a|f.g|h(1, *b, k=2, **c) }}",
        "[(Output [(Filter (Filter (name \"a\") \"f.g\" [] [] - -) \"h\" [(int 1)] [(\"k\" (int 2))] (name \"b\") (name \"c\"))])]",
    ),
    (
        "slices and several keys",
        "{{ a[1:2] }}{{ a[::-1] }}{{ a[:] }}{{ a[1, 2] }}{{ a[] }}",
        "[(Output [(Getitem (name \"a\") (Slice (int 1) (int 2) -)) (Getitem (name \"a\") (Slice - - (Neg (int 1)))) (Getitem (name \"a\") (Slice - - -)) (Getitem (name \"a\") (Tuple [(int 1) (int 2)])) (Getitem (name \"a\") (Tuple []))])]",
    ),
    (
        "numbers after a dot are keys",
        "{{ a.1.5 }}{{ a.b.0 }}",
        "[(Output [(Getitem (Getitem (name \"a\") (int 1)) (int 5)) (Getitem (Getattr (name \"a\") \"b\") (int 0))])]",
    ),
    (
        "numbers with underscores and in other bases",
        "{{ 1_000 }}{{ 0x_ff }}{{ 0b1_0 }}{{ 0o17 }}{{ 1_0.5e-3 }}{{ 1E400 }}{{ 18446744073709551616 }}",
        "[(Output [(int 3e8) (int ff) (int 2) (int f) (float 3f85810624dd2f1b) (float 7ff0000000000000) (int 10000000000000000)])]",
    ),
    (
        "strings join and their escapes are Python's",
        "{{ 'a' \"b\" }}{{ '\\x41\\u00e9\\101\\q\\\n\\N{DIGIT ONE}' }}{{ '\\é' }}",
        "[(Output [\"ab\" \"A\\{e9}A\\{5c}q1\" \"\\{5c}xe9\"])]",
    ),
    (
        "words are names where no word is expected",
        "{{ if }}{{ 1 + not }}{{ a.if }}",
        "[(Output [(name \"if\") (Add (int 1) (name \"not\")) (Getattr (name \"a\") \"if\")])]",
    ),
    (
        "set has tuples and attributes",
        "{% set a, ns.b = 1, 2 %}{% set (c) | trim | f(1) %}d{% endset %}",
        "[(Set 1 (Tuple [(name \"a\") (attribute \"ns\" \"b\")]) (Tuple [(int 1) (int 2)])) (SetBlock 1 (name \"c\") [(\"trim\" [] [] - -) (\"f\" [(int 1)] [] - -)] [(Output [(data 1 \"d\")])])]",
    ),
    (
        "for has a condition, recursion and an else",
        "{% for a, (b, c) in d if e recursive %}f{% else %}g{% endfor %}",
        "[(For 1 (Tuple [(name \"a\") (Tuple [(name \"b\") (name \"c\")])]) (name \"d\") (name \"e\") True [(Output [(data 1 \"f\")])] [(Output [(data 1 \"g\")])])]",
    ),
    (
        "with a comma before it, in is a target",
        "{% for a, in in b %}{% endfor %}",
        "[(For 1 (Tuple [(name \"a\") (name \"in\")]) (name \"b\") - False [] [])]",
    ),
    (
        "elif chains stay flat",
        "{% if a %}1{% elif b %}2{% elif c %}3{% else %}4{% endif %}",
        "[(If 1 [((name \"a\") [(Output [(data 1 \"1\")])]) ((name \"b\") [(Output [(data 1 \"2\")])]) ((name \"c\") [(Output [(data 1 \"3\")])])] [(Output [(data 1 \"4\")])])]",
    ),
    (
        "macros, calls and filter blocks",
        "{% macro m(a, b=1) %}{{ caller() }}{% endmacro %}{% call(x) m(2) %}y{% endcall %}{% filter upper|trim %}z{% endfilter %}",
        "[(Macro 1 \"m\" [(\"a\" -) (\"b\" (int 1))] [(Output [(Call (name \"caller\") [] [] - -)])]) (CallBlock 1 [(\"x\" -)] (Call (name \"m\") [(int 2)] [] - -) [(Output [(data 1 \"y\")])]) (FilterBlock 1 [(\"upper\" [] [] - -) (\"trim\" [] [] - -)] [(Output [(data 1 \"z\")])])]",
    ),
    (
        "other blocks",
        "{% with a = 1, b = 2 %}c{% endwith %}{% generation %}d{% endgeneration %}{% block e scoped %}{% endblock e %}{% autoescape true %}{% endautoescape %}{% for x in y %}{% break %}{% continue %}{% endfor %}{% print a, b %}",
        "[(With 1 [((name \"a\") (int 1)) ((name \"b\") (int 2))] [(Output [(data 1 \"c\")])]) (Generation 1 [(Output [(data 1 \"d\")])]) (Block 1 \"e\" True False []) (Autoescape 1 True []) (For 1 (name \"x\") (name \"y\") - False [(Break 1) (Continue 1)] []) (Output [(name \"a\") (name \"b\")])]",
    ),
    (
        "other templates are parsed, to fail when they are reached",
        "{% include 'a' ignore missing %}{% import 'b' as c with context %}{% from 'd' import e as f, g %}{% extends 'h' %}",
        "[(Include 1 \"a\" []) (Import 1 \"b\" [\"c\"]) (FromImport 1 \"d\" [\"f\" \"g\"]) (Extends 1 \"h\" [])]",
    ),
];

#[test]
fn recorded_trees_are_the_same() {
    for (shows, source, expected) in RECORDED {
        let source = syntax::normalize(source);
        let template = syntax::parse(&source).unwrap_or_else(|error| panic!("{shows}: {error}"));
        assert_eq!(dump::template(&template), *expected, "{shows}: {source:?}");
    }
}
