//! How errors read.

use typecase_jinja::syntax;

fn error(source: &str) -> String {
    let source = syntax::normalize(source);
    match syntax::parse(&source) {
        Ok(_) => panic!("{source:?} is taken"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn an_error_shows_its_line_with_a_caret() {
    insta::assert_snapshot!(error("Hi\n{% for x in xs %}\n  {{ x.name + }}\n{% endfor %}\n"), @r#"
    line 3, column 15: unexpected 'end of print statement'
      {{ x.name + }}
                  ^
    "#);
    insta::assert_snapshot!(error("{% if a %}\n{% for x in xs %}\n{% endif %}"), @r#"
    line 3, column 4: encountered unknown tag 'endif'; it is expected, but not before 'endfor' or 'else'; the innermost block that needs to be closed is 'for' of line 2
    {% endif %}
       ^
    "#);
    insta::assert_snapshot!(error("{% if a %}\ntext"), @r#"
    line 2, column 5: unexpected end of template; looking for 'elif' or 'else' or 'endif'; the innermost block that needs to be closed is 'if' of line 1
    text
        ^
    "#);
    insta::assert_snapshot!(error("{{ 'ünïcode' | tr!m }}"), @r#"
    line 1, column 18: unexpected char '!'
    {{ 'ünïcode' | tr!m }}
                     ^
    "#);
    insta::assert_snapshot!(error("{{ f(a=1, b }}"), @r#"
    line 1, column 13: unexpected '}', expected ')'
    {{ f(a=1, b }}
                ^
    "#);
    insta::assert_snapshot!(error("{% do x %}"), @r#"
    line 1, column 4: encountered unknown tag 'do'
    {% do x %}
       ^
    "#);
    insta::assert_snapshot!(error("{% set x.y.z = 1 %}"), @r#"
    line 1, column 11: expected token 'end of statement block', got '.'
    {% set x.y.z = 1 %}
              ^
    "#);
    insta::assert_snapshot!(error("{% set [a] = 1 %}"), @r#"
    line 1, column 8: can't assign to 'list'
    {% set [a] = 1 %}
           ^
    "#);
    insta::assert_snapshot!(error("{{ '\\ud83d' }}"), @r#"
    line 1, column 4: escape of half a surrogate pair, which no text can hold
    {{ '\ud83d' }}
       ^
    "#);
}

#[test]
fn a_long_line_is_cut_around_the_place() {
    let long = format!("{}{{{{ a b }}}}{}", "x".repeat(300), "y".repeat(300));
    insta::assert_snapshot!(error(&long), @r#"
    line 1, column 306: expected token 'end of print statement', got 'b'
    ...xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx{{ a b }}yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy...
                                                                   ^
    "#);
}
