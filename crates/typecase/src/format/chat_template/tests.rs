use super::{Arguments, ChatTemplate, ChatTemplates, TokenNames};
use crate::error::{ErrorKind, Fault};
use crate::format::{Format, RenderOptions};
use crate::prompt::{SpecialTokens, Writer};
use crate::request::ChatRequest;
use typecase_jinja::ErrorKind as TemplateErrorKind;
use typecase_jinja::value::{Arena, Value, json};

fn tokens() -> TokenNames {
    [("bos_token", "<s>"), ("eos_token", "</s>")].into_iter().collect()
}

/// Renders a request body; `Err` holds the error as it is printed.
fn render(source: &str, body: &str) -> Result<String, String> {
    let template = ChatTemplate::compile(source, tokens()).map_err(|err| err.to_string())?;
    let arena = Arena::new();
    let mut body = body.as_bytes().to_vec();
    let request = ChatRequest::parse(&mut body, &arena).map_err(|err| err.to_string())?;
    let prompt = template.render(&request, &RenderOptions::default());
    prompt
        .map(|prompt| prompt.text().to_owned())
        .map_err(|err| err.to_string())
}

const KEYS: &str = "{% for m in messages %}{{ m.items() | list }}{% endfor %}";

#[test]
fn null_fields_of_a_message_are_dropped_and_no_others() {
    let body = r#"{"messages": [{"role": "user", "content": null, "more": {"a": null}}]}"#;
    assert_eq!(
        render(KEYS, body).as_deref(),
        Ok("[('role', 'user'), ('more', {'a': None})]")
    );
}

#[test]
fn thinking_moves_to_the_front_and_reasoning_content_keeps_its_place() {
    let body = r#"{"messages": [{"role": "a", "reasoning_content": "r", "thinking": "t", "content": "c"}]}"#;
    assert_eq!(
        render(KEYS, body).as_deref(),
        Ok("[('thinking', 't'), ('role', 'a'), ('reasoning_content', 'r'), ('content', 'c')]")
    );
}

#[test]
fn reasoning_is_copied_to_both_names() {
    let body = r#"{"messages": [{"role": "a", "reasoning": "r", "content": "c"}]}"#;
    assert_eq!(
        render(KEYS, body).as_deref(),
        Ok("[('thinking', 'r'), ('role', 'a'), ('reasoning', 'r'), ('content', 'c'), ('reasoning_content', 'r')]")
    );
}

#[test]
fn arguments_of_the_request_replace_neither_tokens_nor_messages() {
    let body = r#"{"messages": [{"role": "user", "content": "x"}],
        "chat_template_kwargs": {"bos_token": "B", "sep_token": "S", "messages": [], "tokenize": true, "n": 1}}"#;
    assert_eq!(
        render(
            "{{ bos_token }}{{ sep_token is defined }}{{ eos_token }}{{ messages | length }}{{ tokenize is defined }}{{ n }}",
            body
        )
        .as_deref(),
        Ok("<s>False</s>1False1")
    );
}

const TURNS: &str = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</{{ m.role }}>{% endfor %}";

#[test]
fn a_continued_message_is_left_open() {
    let body = r#"{"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a "}],
        "continue_final_message": true, "add_generation_prompt": false}"#;
    assert_eq!(render(TURNS, body).as_deref(), Ok("<user>q</user><assistant>a "));
    let trimmed = TURNS.replace("m.content", "m.content | trim");
    assert_eq!(render(&trimmed, body).as_deref(), Ok("<user>q</user><assistant>a"));
}

#[test]
fn what_cannot_be_continued_is_refused_at_the_message() {
    let continued = |last: &str| {
        let body = format!(
            r#"{{"messages": [{{"role": "user", "content": "q"}}, {last}], "continue_final_message": true,
            "add_generation_prompt": false}}"#
        );
        render("{% for m in messages %}{{ m.content | upper }}{% endfor %}", &body).unwrap_err()
    };
    assert!(continued(r#"{"role": "assistant"}"#).starts_with("messages[1]: "));
    assert!(
        continued(r#"{"role": "assistant", "content": [{"type": "image_url", "image_url": {"url": ""}}]}"#)
            .starts_with("messages[1].content: ")
    );
    // The template writes the text, but not as it is.
    assert!(continued(r#"{"role": "assistant", "content": "abc"}"#).contains("cannot be continued"));
}

#[test]
fn every_byte_has_a_writer() -> Result<(), crate::Error> {
    let template = ChatTemplate::compile(
        "{{ bos_token }}[{{ messages[0].content | upper }}]{{ 6 * 7 }}",
        tokens(),
    )?;
    let arena = Arena::new();
    let mut body = r#"{"messages": [{"role": "user", "content": "h\u00e9 <s>"}]}"#.as_bytes().to_vec();
    let request = ChatRequest::parse(&mut body, &arena)?;
    let prompt = template.render(&request, &RenderOptions::default())?;
    let written: Vec<(&str, &str)> = prompt
        .provenance()
        .ranges()
        .map(|(range, writer)| {
            let writer = match writer {
                Writer::Format => "format",
                Writer::Config => "config",
                Writer::Request(_) => "request",
            };
            (&prompt.text()[range], writer)
        })
        .collect();
    assert_eq!(
        written,
        [
            ("<s>", "config"),
            ("[", "format"),
            ("HÉ <S>", "request"),
            ("]42", "format")
        ]
    );
    let segments: Vec<_> = prompt.segment_texts().collect();
    assert_eq!(segments, [("<s>[HÉ <S>]42", SpecialTokens::Trusted)]);
    Ok(())
}

#[test]
fn a_cut_prompt_keeps_who_wrote_what_is_left() -> Result<(), crate::Error> {
    let template = ChatTemplate::compile(TURNS, tokens())?;
    let arena = Arena::new();
    let mut body = br#"{"messages": [{"role": "assistant", "content": "abc"}], "continue_final_message": true,
        "add_generation_prompt": false}"#
        .to_vec();
    let request = ChatRequest::parse(&mut body, &arena)?;
    let prompt = template.render(&request, &RenderOptions::default())?;
    let Some((range, Writer::Request(origin))) = prompt.provenance().ranges().last() else {
        panic!("the request wrote the end");
    };
    assert_eq!(&prompt.text()[range], "abc");
    assert_eq!(prompt.provenance().path(origin).to_string(), "messages[0].content");
    Ok(())
}

#[test]
fn tools_choose_the_template_called_tool_use() -> Result<(), crate::Error> {
    let templates = ChatTemplates::compile([("tool_use", "T"), ("default", "D")], &tokens())?;
    let arena = Arena::new();
    let text = |tools: Value<'_>| -> Result<String, crate::Error> {
        let arena = Arena::new();
        let messages = json::parse_str(r#"[{"role": "user"}]"#, &arena).unwrap_or(tools);
        let arguments = Arguments::new(messages);
        let template = templates.choose(Some(tools))?;
        let prompt = template.render_arguments(&arguments, messages, &arena, &RenderOptions::default())?;
        Ok(prompt.text().to_owned())
    };
    assert_eq!(text(Value::List(arena.list(&[], Default::default())))?, "T");
    assert_eq!(text(Value::None(Default::default()))?, "D");
    let err = ChatTemplates::compile([("rag", "R")], &tokens())?
        .choose(None)
        .map(|_| ())
        .unwrap_err();
    assert!(matches!(err.kind(), ErrorKind::NoDefaultTemplate { names } if names == &["rag"]));
    Ok(())
}

#[test]
fn a_template_that_runs_away_is_stopped() -> Result<(), crate::Error> {
    let source = "{% for a in range(9999) %}{% for b in range(9999) %}{{ '' }}{% endfor %}{% endfor %}";
    let template = ChatTemplate::compile(source, tokens())?;
    let arena = Arena::new();
    let mut body = br#"{"messages": [{"role": "user", "content": "x"}]}"#.to_vec();
    let request = ChatRequest::parse(&mut body, &arena)?;
    let err = template.render(&request, &RenderOptions::default()).unwrap_err();
    let ErrorKind::Template { kind, .. } = err.kind() else {
        panic!("{err}");
    };
    assert_eq!((*kind, err.fault()), (TemplateErrorKind::Limit, Fault::Client));
    Ok(())
}

#[test]
fn the_stub_is_what_opens_the_turn() -> Result<(), crate::Error> {
    let end = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}";
    let nowhere = "{{ messages[0].content }}";
    // What is before the messages is no turn.
    let before = "{% if add_generation_prompt %}!{% endif %}{{ messages[0].content }}";
    // Nothing can be said of a prompt that is another one without the turn.
    let fails = "{{ messages[0].content }}{% if add_generation_prompt %}[assistant]{% else %}{{ 1 / 0 }}{% endif %}";
    for (source, body, stub) in [
        (
            end,
            r#"{"messages": [{"role": "user", "content": "[assistant]"}]}"#,
            Some("[assistant]"),
        ),
        (
            end,
            r#"{"messages": [{"role": "user", "content": "x"}], "add_generation_prompt": false}"#,
            None,
        ),
        (
            end,
            r#"{"messages": [{"role": "user", "content": "x"}], "continue_final_message": true}"#,
            None,
        ),
        (nowhere, r#"{"messages": [{"role": "user", "content": "x"}]}"#, None),
        (before, r#"{"messages": [{"role": "user", "content": "x"}]}"#, None),
        (fails, r#"{"messages": [{"role": "user", "content": "x"}]}"#, None),
    ] {
        let template = ChatTemplate::compile(source, tokens())?;
        let arena = Arena::new();
        let mut body = body.as_bytes().to_vec();
        let request = ChatRequest::parse(&mut body, &arena)?;
        let prompt = template.render(&request, &RenderOptions::default().find_stub(true))?;
        assert_eq!(
            prompt.generation_stub().map(|stub| &prompt.text()[stub]),
            stub,
            "{source}"
        );
        let unasked = template.render(&request, &RenderOptions::default())?;
        assert_eq!(unasked.generation_stub(), None);
        assert_eq!(unasked.text(), prompt.text());
    }
    Ok(())
}
