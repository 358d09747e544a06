//! Kimi K3, served profile: what clients send, what is refused and where, and the laws that hold for any request.
//!
//! The reference profile is held against recorded goldens by the conformance harness.

use proptest::prelude::*;
use std::fmt::Write;
use typecase::format::kimi_k3::Profile;
use typecase::prompt::{SpecialTokens, WarningKind, Writer};
use typecase::value::{Arena, json};
use typecase::{ChatRequest, ErrorKind, Fault, Format, RenderOptions, format::KimiK3};

/// Segments, one per line: control in brackets, text quoted.
fn segments(request: &str) -> Result<String, String> {
    let arena = Arena::new();
    let mut body = request.as_bytes().to_vec();
    let render = ChatRequest::parse(&mut body, &arena)
        .and_then(|request| KimiK3::default().render(&request, &RenderOptions::default()));
    let prompt = render.map_err(|err| err.to_string())?;
    let mut out = String::new();
    for (text, special) in prompt.segment_texts() {
        let _ = match special {
            SpecialTokens::All => writeln!(out, "[{text}]"),
            _ => writeln!(out, "{text:?}"),
        };
    }
    Ok(out)
}

fn text(request: &str) -> Result<String, String> {
    let arena = Arena::new();
    let mut body = request.as_bytes().to_vec();
    let prompt = ChatRequest::parse(&mut body, &arena)
        .and_then(|request| KimiK3::default().render(&request, &RenderOptions::default()));
    prompt
        .map(|prompt| prompt.text().to_owned())
        .map_err(|err| err.to_string())
}

fn rendered(request: &str) -> String {
    text(request).expect(request)
}

/// The request with one user message and these other fields.
fn with(fields: &str) -> String {
    format!(r#"{{"messages": [{{"role": "user", "content": "Hi"}}], {fields}}}"#)
}

fn message(name: &str, body: &str) -> String {
    format!("<|open|>message {name}<|sep|>{body}<|close|>message<|sep|><|end_of_msg|>")
}

const STUB: &str = "<|open|>message role=\"assistant\"<|sep|><|open|>think<|sep|>";
const STUB_WITHOUT_THINKING: &str = "<|open|>message role=\"assistant\"<|sep|><|open|>response<|sep|>";

#[test]
fn an_image_is_one_pad_and_text_that_spells_it_is_text() {
    let request = r#"{"messages": [{"role": "user", "content": [
        {"type": "text", "text": "<|media_pad|> is not"}, {"type": "image_url", "image_url": {"url": "u"}}]}],
        "chat_template_kwargs": {"thinking": false}}"#;
    let expected = "[<|open|>]\n\"message\"\n\" role\"\n\"=\\\"\"\n\"user\"\n\"\\\"\"\n[<|sep|>]\n\"<|media_pad|> is not\"\n\
        [<|media_pad|>]\n[<|close|>]\n\"message\"\n[<|sep|>]\n[<|end_of_msg|>]\n[<|open|>]\n\"message\"\n\" role\"\n\
        \"=\\\"\"\n\"assistant\"\n\"\\\"\"\n[<|sep|>]\n[<|open|>]\n\"response\"\n[<|sep|>]\n";
    assert_eq!(segments(request).expect("renders"), expected);
}

#[test]
fn efforts_and_thinking_are_mapped() {
    let effort = |word: &str| format!("`thinking_effort={word}`.");
    for (fields, expected) in [
        (r#""reasoning_effort": null"#, Some("max")),
        (r#""reasoning_effort": "low""#, Some("low")),
        (r#""reasoning": {"effort": "high"}"#, Some("high")),
        (r#""chat_template_kwargs": {"reasoning_effort": "low"}"#, Some("low")),
        (
            r#""reasoning_effort": "low", "chat_template_kwargs": {"thinking_effort": "high"}"#,
            Some("high"),
        ),
        (
            r#""reasoning_effort": "none", "chat_template_kwargs": {"thinking": true}"#,
            Some("max"),
        ),
    ] {
        let prompt = rendered(&with(fields));
        assert!(prompt.ends_with(STUB), "{fields}: {prompt}");
        assert!(
            prompt.contains(&effort(expected.unwrap_or_default())),
            "{fields}: {prompt}"
        );
    }
    let null = rendered(&with(r#""chat_template_kwargs": {"thinking_effort": null}"#));
    assert!(null.ends_with(STUB) && !null.contains("thinking-effort"), "{null}");
    for fields in [
        r#""reasoning_effort": "none""#,
        r#""chat_template_kwargs": {"enable_thinking": false}"#,
        r#""chat_template_kwargs": {"thinking": false, "enable_thinking": true}"#,
        r#""reasoning_effort": "high", "chat_template_kwargs": {"thinking": false}"#,
    ] {
        let prompt = rendered(&with(fields));
        assert!(
            prompt.ends_with(STUB_WITHOUT_THINKING) && !prompt.contains("thinking-effort"),
            "{prompt}"
        );
    }
}

#[test]
fn a_named_tool_is_announced_and_turns_thinking_off() {
    let tools = r#""tools": [{"type": "function", "function": {"name": "f"}}]"#;
    for choice in [
        r#""tool_choice": {"type": "function", "function": {"name": "f"}}"#,
        r#""tool_choice": {"type": "function", "name": "f"}"#,
        r#""function_call": {"name": "f"}"#,
    ] {
        let prompt = rendered(&with(&format!("{tools}, {choice}")));
        let announced =
            "The system is invoked with `tool_choice=specified`.\nYou MUST call the tool `f` in the next message.";
        let expected = message("role=\"system\" type=\"tool-choice\"", announced) + STUB_WITHOUT_THINKING;
        assert!(prompt.ends_with(&expected), "{prompt}");
    }
}

#[test]
fn developers_are_systems_and_functions_are_tools() {
    let request = r#"{"messages": [
        {"role": "developer", "content": "d"},
        {"role": "assistant", "content": null, "function_call": {"name": "f", "arguments": "{\"a\": 1.50}"}},
        {"role": "function", "name": "f", "content": "r"}],
        "functions": [{"name": "f", "parameters": {}}], "chat_template_kwargs": {"thinking": false}}"#;
    let declared = "# Tools\nHere are the available tools, described in JSONSchema.\n\n```json\n\
        [{\"function\":{\"name\":\"f\",\"parameters\":{}},\"type\":\"function\"}]\n```";
    let called = "<|open|>response<|sep|><|close|>response<|sep|><|open|>tools<|sep|>\
        <|open|>call tool=\"f\" index=\"1\"<|sep|><|open|>argument key=\"a\" type=\"number\"<|sep|>1.5<|close|>argument<|sep|>\
        <|close|>call<|sep|><|close|>tools<|sep|>";
    let expected = message("role=\"system\" type=\"tool-declare\"", declared)
        + &message("role=\"system\"", "d")
        + &message("role=\"assistant\"", called)
        + &message("role=\"tool\" tool=\"f\" index=\"1\"", "r")
        + STUB_WITHOUT_THINKING;
    assert_eq!(rendered(request), expected);
}

#[test]
fn a_continued_message_comes_last_and_stays_open() {
    let continued = "<|open|>message role=\"assistant\"<|sep|><|open|>response<|sep|>Once upon";
    for fields in [
        r#""content": "Once upon", "partial": true}]"#,
        r#""content": "Once upon"}], "continue_final_message": true"#,
        r#""content": "Once upon"}], "continue_final_message": true, "add_generation_prompt": false"#,
    ] {
        let request = format!(
            r#"{{"messages": [{{"role": "user", "content": "q"}}, {{"role": "assistant", {fields},
            "tool_choice": "none", "reasoning_effort": "none"}}"#
        );
        let arena = Arena::new();
        let mut body = request.clone().into_bytes();
        let parsed = ChatRequest::parse(&mut body, &arena).expect("is a request");
        let prompt = KimiK3::default()
            .render(&parsed, &RenderOptions::default())
            .expect("renders");
        assert!(
            prompt.text().ends_with(&format!("<|end_of_msg|>{continued}")),
            "{}",
            prompt.text()
        );
        assert!(prompt.text().contains("tool_choice=none"));
        assert_eq!(prompt.generation_stub(), None);
    }
}

#[test]
fn results_find_their_calls_by_id_or_by_name_and_index() {
    let request = r#"{"messages": [{"role": "assistant", "content": "", "tool_calls": [
        {"id": "a", "function": {"name": "f", "arguments": "{}"}}, {"id": "b", "function": {"name": "f", "arguments": ""}}]},
        {"role": "tool", "tool_call_id": "f:1", "content": "second"}, {"role": "tool", "tool_call_id": "a", "content": "first"}],
        "add_generation_prompt": false}"#;
    let prompt = rendered(request);
    let results = message("role=\"tool\" tool=\"f\" index=\"1\"", "first")
        + &message("role=\"tool\" tool=\"f\" index=\"2\"", "second");
    assert!(prompt.ends_with(&results), "{prompt}");
}

#[test]
fn media_keep_their_place_in_the_request() {
    let arena = Arena::new();
    let image = |n: u32| format!(r#"{{"type": "image_url", "image_url": {{"url": "{n}"}}}}"#);
    let request = format!(
        r#"{{"messages": [{{"role": "user", "content": [{}, "and", {}]}},
        {{"role": "assistant", "content": "", "tool_calls": [{{"id": "a", "function": {{"name": "f"}}}}, {{"id": "b", "function": {{"name": "g"}}}}]}},
        {{"role": "tool", "tool_call_id": "b", "content": [{}]}}, {{"role": "tool", "tool_call_id": "a", "content": [{}]}}]}}"#,
        image(0),
        image(1),
        image(2),
        image(3)
    );
    let mut body = request.into_bytes();
    let request = ChatRequest::parse(&mut body, &arena).expect("is a request");
    let prompt = KimiK3::default()
        .render(&request, &RenderOptions::default())
        .expect("renders");
    let places: Vec<_> = prompt
        .media()
        .items()
        .iter()
        .map(|m| (m.request_ordinal, m.message, m.part))
        .collect();
    assert_eq!(places, [(0, 0, 0), (1, 0, 2), (3, 3, 0), (2, 2, 0)]);
    for item in prompt.media().items() {
        assert_eq!(&prompt.text()[item.placeholder.clone()], "<|media_pad|>");
        let url = item.source.lookup("image_url").and_then(|image| image.lookup("url"));
        assert_eq!(
            url.and_then(|url| url.as_str()),
            Some(item.request_ordinal.to_string().as_str())
        );
    }
}

#[test]
fn every_byte_knows_its_field() {
    let arena = Arena::new();
    let mut body =
        br#"{"messages": [{"role": "user", "name": "a\"b", "content": [{"type": "text", "text": "Hi \u00e9"}]},
        {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{\"k\": \"v\", \"n\": [1]}"}}]}],
        "add_generation_prompt": false, "reasoning_effort": "none"}"#
            .to_vec();
    let request = ChatRequest::parse(&mut body, &arena).expect("is a request");
    let prompt = KimiK3::default()
        .render(&request, &RenderOptions::default())
        .expect("renders");
    let provenance = prompt.provenance();
    let from_request: Vec<(&str, String)> = provenance
        .ranges()
        .filter_map(|(range, writer)| match writer {
            Writer::Request(origin) => Some((&prompt.text()[range], provenance.path(origin).to_string())),
            _ => None,
        })
        .collect();
    let call = "messages[1].tool_calls[0].function";
    assert_eq!(
        from_request,
        [
            ("a&quot;b", "messages[0].name".to_owned()),
            ("Hi é", "messages[0].content[0].text".to_owned()),
            ("f", format!("{call}.name")),
            ("k", format!("{call}.arguments")),
            ("v", format!("{call}.arguments")),
            ("n", format!("{call}.arguments")),
            ("[1]", format!("{call}.arguments")),
        ]
    );
    assert_eq!(
        provenance.ranges().last().map(|(range, _)| range.end),
        Some(prompt.text().len())
    );
}

#[test]
fn what_is_lost_nowhere_is_reported() {
    let arena = Arena::new();
    let mut body = br#"{"messages": [{"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{oops"}}]},
        {"role": "tool", "tool_call_id": "x", "name": "f", "content": "1"}, {"role": "tool", "tool_call_id": "a", "name": "f", "content": "2"}]}"#
        .to_vec();
    let request = ChatRequest::parse(&mut body, &arena).expect("is a request");
    let prompt = KimiK3::default()
        .render(&request, &RenderOptions::default())
        .expect("renders");
    let warnings: Vec<_> = prompt.warnings().iter().map(|w| (w.path.to_string(), w.kind)).collect();
    assert_eq!(
        warnings,
        [
            ("messages[1]".to_owned(), WarningKind::ResultsUnordered),
            (
                "messages[0].tool_calls[0].function.arguments".to_owned(),
                WarningKind::ArgumentsVerbatim
            ),
        ]
    );
}

/// Refused requests: where and why.
const REFUSED: &[&str] = &[
    r#"[]"#,
    r#"{"messages": [}"#,
    r#"{}"#,
    r#"{"messages": "hi"}"#,
    r#"{"messages": ["hi"]}"#,
    r#"{"messages": [{"content": "hi"}]}"#,
    r#"{"messages": [{"role": "user", "content": "hi"}, {"role": "critic", "content": "hm"}]}"#,
    r#"{"messages": [{"role": 7, "content": "hi"}]}"#,
    r#"{"messages": [{"role": "user", "content": 7}]}"#,
    r#"{"messages": [{"role": "user", "content": [{"type": "text"}]}]}"#,
    r#"{"messages": [{"role": "user", "content": ["a", {"type": "hologram", "hologram": {}}]}]}"#,
    r#"{"messages": [{"role": "user", "content": [{"type": "video_url", "video_url": {"url": "u"}}]}]}"#,
    r#"{"messages": [{"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}]}"#,
    r#"{"messages": [{"role": "user", "content": [{"url": "u"}]}]}"#,
    r#"{"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": [1]}}]}]}"#,
    r#"{"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "[1]"}}]}]}"#,
    r#"{"messages": [{"role": "assistant", "tool_calls": [{"function": {"arguments": "{}"}}]}]}"#,
    r#"{"messages": [{"role": "assistant", "tool_calls": {}}]}"#,
    r#"{"messages": [{"role": "tool", "content": "r"}]}"#,
    r#"{"messages": [{"role": "user", "content": "q", "tools": [{"name": "f"}]}]}"#,
    r#"{"messages": [{"role": "system", "content": "s", "tools": [{"name": "f"}]}]}"#,
    r#"{"messages": [], "tools": {}}"#,
    r#"{"messages": [], "tools": ["f"]}"#,
    r#"{"messages": [], "tool_choice": "any"}"#,
    r#"{"messages": [], "tool_choice": {"type": "function", "function": {}}}"#,
    r#"{"messages": [], "tool_choice": {"type": "function", "function": {"name": "f"}}}"#,
    r#"{"messages": [], "response_format": "json_object"}"#,
    r#"{"messages": [], "reasoning_effort": "medium"}"#,
    r#"{"messages": [], "chat_template_kwargs": {"thinking_effort": 3}}"#,
    r#"{"messages": [], "chat_template_kwargs": {"thinking": "yes"}}"#,
    r#"{"messages": [], "add_generation_prompt": true, "continue_final_message": true}"#,
    r#"{"messages": [], "continue_final_message": true}"#,
    r#"{"messages": [{"role": "user", "content": "q"}], "continue_final_message": true}"#,
    r#"{"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f"}}], "partial": true}]}"#,
    r#"{"messages": [{"role": "assistant", "partial": true}, {"role": "user", "content": "q"}]}"#,
    r#"{"messages": [{"role": "user", "content": "cut \ud83d"}]}"#,
];

#[test]
fn refusals_name_the_place_and_the_reason() {
    let mut out = String::new();
    for request in REFUSED {
        let refusal = text(request).expect_err(request);
        let _ = writeln!(out, "{request}\n    {refusal}\n");
    }
    insta::assert_snapshot!(out);
}

#[test]
fn refusals_are_the_clients_fault_and_typed() {
    let arena = Arena::new();
    let mut body = REFUSED[10].as_bytes().to_vec();
    let request = ChatRequest::parse(&mut body, &arena).expect("is a request");
    let err = KimiK3::default()
        .render(&request, &RenderOptions::default())
        .expect_err("has a hologram");
    assert_eq!(err.fault(), Fault::Client);
    assert_eq!(err.path().to_string(), "messages[0].content[1]");
    assert!(matches!(err.kind(), ErrorKind::UnsupportedPart { found, .. } if found == "hologram"));
}

#[test]
fn large_and_deep_requests_are_rendered_or_refused() {
    let deep = format!(
        r#"{{"messages": [{{"role": "user", "content": {}{}}}]}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    assert!(text(&deep).expect_err("is deep").contains("nested deeper than"));
    let nested = format!("{}{}", "{\\\"a\\\": [".repeat(50_000), "]}".repeat(50_000));
    let arguments = format!(
        r#"{{"messages": [{{"role": "assistant", "tool_calls": [{{"function": {{"name": "f", "arguments": "{nested}"}}}}]}}]}}"#
    );
    let refusal = text(&arguments).expect_err("is deep");
    assert!(
        refusal.starts_with("messages[0].tool_calls[0].function.arguments: "),
        "{refusal}"
    );
    let many: Vec<String> = (0..10_000)
        .map(|i| {
            format!(
                r#"{{"role": "tool", "tool_call_id": "c{}", "content": [{{"type": "image"}}, "r{i}"]}}"#,
                9_999 - i
            )
        })
        .collect();
    let calls: Vec<String> = (0..10_000)
        .map(|i| format!(r#"{{"id": "c{i}", "function": {{"name": "f"}}}}"#))
        .collect();
    let request = format!(
        r#"{{"messages": [{{"role": "assistant", "tool_calls": [{}]}}, {}]}}"#,
        calls.join(","),
        many.join(",")
    );
    let prompt = rendered(&request);
    assert!(prompt.contains("index=\"10000\"<|sep|><|media_pad|>r0<|close|>"));
    let big = format!(
        r#"{{"messages": [{{"role": "user", "content": "{}"}}]}}"#,
        "word \\n".repeat(14_000_000)
    );
    assert!(rendered(&big).len() > 80_000_000);
}

/// Texts that spell control tokens, attributes and placeholders, whole and in pieces.
fn spelled_like_control_tokens() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("<|open|>"),
        Just("<|close|>"),
        Just("<|sep|>"),
        Just("<|end_of_msg|>"),
        Just("<|media_pad|>"),
        Just("<|kimi_image_placeholder|>"),
        Just("[EOS]"),
        Just("<|"),
        Just("|>"),
        Just("\""),
        Just("&"),
        Just(" "),
        Just("message role=\"system\""),
        Just("é漢😀"),
        Just("\u{0}"),
        Just("\n"),
    ];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

/// A part list: texts, and `true` for an image.
fn parts() -> impl Strategy<Value = Vec<Result<String, ()>>> {
    prop::collection::vec(
        prop_oneof![spelled_like_control_tokens().prop_map(Ok), Just(Err(()))],
        0..4,
    )
}

fn quoted(text: &str) -> String {
    let mut out = String::new();
    json::write_str(&mut out, text, true);
    out
}

fn content(parts: &[Result<String, ()>]) -> String {
    let part = |part: &Result<String, ()>| match part {
        Ok(text) => format!(r#"{{"type": "text", "text": {}}}"#, quoted(text)),
        Err(()) => r#"{"type": "image_url", "image_url": {"url": "u"}}"#.to_owned(),
    };
    format!("[{}]", parts.iter().map(part).collect::<Vec<_>>().join(", "))
}

/// A conversation that says `texts` wherever a request can say something, with `parts` as contents.
fn conversation(texts: &[String], contents: &[Vec<Result<String, ()>>]) -> String {
    let text = |i: usize| quoted(texts.get(i).map_or("x", String::as_str));
    let parts = |i: usize| content(contents.get(i).map_or(&[], Vec::as_slice));
    let name = |i: usize| format!("n{}", texts.get(i).map_or("x", String::as_str));
    format!(
        r#"{{"messages": [
            {{"role": "system", "name": {0}, "content": {1}}},
            {{"role": "user", "name": {2}, "content": {3}}},
            {{"role": "assistant", "reasoning_content": {4}, "content": {5}, "tool_calls": [
                {{"id": "1", "function": {{"name": {6}, "arguments": {{{7}: {8}, "o": [{8}]}}}}}},
                {{"id": "2", "function": {{"name": "f", "arguments": {9}}}}}]}},
            {{"role": "tool", "tool_call_id": "2", "content": {10}}},
            {{"role": "tool", "tool_call_id": "1", "content": {0}}}],
            "tools": [{{"type": "function", "function": {{"name": {6}, "description": {4}}}}}],
            "tool_choice": {{"type": "function", "name": {6}}},
            "response_format": {{"type": "json_schema", "json_schema": {{"schema": {{{7}: {8}}}}}}}}}"#,
        text(0),
        parts(0),
        text(1),
        parts(1),
        text(2),
        parts(2),
        quoted(&name(3)),
        text(4),
        text(5),
        quoted(&format!("no json {}", texts.get(6).map_or("x", String::as_str))),
        parts(3),
    )
}

fn control(request: &str) -> (Vec<String>, usize) {
    let arena = Arena::new();
    let mut body = request.as_bytes().to_vec();
    let request = ChatRequest::parse(&mut body, &arena).expect("is a request");
    let prompt = KimiK3::default()
        .render(&request, &RenderOptions::default())
        .expect("renders");
    let joined: String = prompt.segment_texts().map(|(text, _)| text).collect();
    assert_eq!(joined, prompt.text());
    assert!(prompt.segment_texts().all(|(text, _)| !text.is_empty()));
    let control = prompt
        .segment_texts()
        .filter(|(_, special)| *special == SpecialTokens::All);
    (control.map(|(text, _)| text.to_owned()).collect(), prompt.media().len())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn request_text_never_becomes_control(
        texts in prop::collection::vec(spelled_like_control_tokens(), 7),
        contents in prop::collection::vec(parts(), 4),
    ) {
        // The same images and the same places, with harmless text.
        let harmless: Vec<Vec<Result<String, ()>>> =
            contents.iter().map(|parts| parts.iter().map(|part| part.clone().map(|_| "x".to_owned())).collect()).collect();
        let (hostile, media) = control(&conversation(&texts, &contents));
        let (plain, _) = control(&conversation(&vec!["x".to_owned(); 7], &harmless));
        prop_assert_eq!(&hostile, &plain);
        let images = contents.iter().flatten().filter(|part| part.is_err()).count();
        prop_assert_eq!(hostile.iter().filter(|token| *token == "<|media_pad|>").count(), images);
        prop_assert_eq!(media, images);
    }
}

#[test]
fn keyword_arguments_that_are_not_read_are_told_of() {
    let body = r#"{"messages": [{"role": "user", "content": "Hi"}],
        "chat_template_kwargs": {"thinking": false, "thinkng": true, "bos_token": "x"}}"#;
    for (profile, expected) in [
        (
            Profile::Served,
            &["chat_template_kwargs.thinkng", "chat_template_kwargs.bos_token"][..],
        ),
        (Profile::Reference(Default::default()), &[]),
    ] {
        let arena = Arena::new();
        let mut body = body.as_bytes().to_vec();
        let request = ChatRequest::parse(&mut body, &arena).expect("a request");
        let prompt = KimiK3::new(profile)
            .render(&request, &Default::default())
            .expect("renders");
        let paths: Vec<String> = prompt
            .warnings()
            .iter()
            .map(|warning| warning.path.to_string())
            .collect();
        assert_eq!(paths, expected);
    }
}
