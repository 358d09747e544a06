//! A template renders or fails with a typed error, within its bounds; its runs cover the text, and it writes the same
//! when nobody asks where the bytes came from.
//!
//! Input: the template, a zero byte, the variables as JSON. Without the zero byte a chat stands in for them.

#![no_main]

use libfuzzer_sys::fuzz_target;
use typecase_jinja::value::{Arena, json};
use typecase_jinja::{Error, Options, Rendered, Template};

const CHAT: &str = r#"{"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi <b>\u00e9</b>"},
    {"role": "assistant", "content": null, "tool_calls": [{"function": {"name": "f", "arguments": {"x": [1, 2.5, "y"]}}}]}],
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}], "add_generation_prompt": true,
    "bos_token": "<s>", "s": "a b,c", "n": 3, "f": 1.5, "xs": [3, "x", null, [1]], "d": {"a": 1, "items": "i"}}"#;

fuzz_target!(|input: &str| {
    let (source, variables) = input.split_once('\0').unwrap_or((input, CHAT));
    let Ok(template) = Template::compile(source) else {
        return;
    };
    let tracked = render(&template, variables, true);
    let untracked = render(&template, variables, false);
    match (tracked, untracked) {
        (Some(Ok(a)), Some(Ok(b))) => {
            assert_eq!(a.text, b.text);
            assert_eq!(a.generation, b.generation);
            let mut covered = 0;
            for run in &a.runs {
                assert!(run.end > covered && a.text.is_char_boundary(run.end));
                covered = run.end;
            }
            assert_eq!(covered, a.text.len());
        }
        (Some(Err(a)), Some(Err(b))) => assert_eq!(a.kind(), b.kind(), "{a} | {b}"),
        (None, None) => {}
        (a, b) => panic!("with and without provenance: {a:?} | {b:?}"),
    }
});

fn render(template: &Template, variables: &str, provenance: bool) -> Option<Result<Rendered, Error>> {
    let arena = Arena::new();
    let values = json::parse_str(variables, &arena).ok()?;
    let mut options = Options::default().provenance(provenance);
    options.max_work = 100_000;
    options.max_memory_bytes = 1 << 20;
    options.max_output_bytes = 1 << 20;
    let result = template.render(&values, &arena, &options);
    assert!(arena.allocated_bytes() < 1 << 27, "bounds of memory are not kept");
    Some(result)
}
