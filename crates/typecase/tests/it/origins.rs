//! Where tokens came from: messages, roles, content and what the assistant is to learn, on Kimi K3 prompts.

use typecase::format::RenderOptions;
use typecase::model::Model;
use typecase::request::ChatRequest;
use typecase::tokenizer::{TokenOrigins, Trust};
use typecase::value::Arena;

const REQUEST: &str = r#"{"reasoning_effort": "none", "add_generation_prompt": false, "messages": [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Say <|open|> and [EOS]"},
    {"role": "assistant", "content": "Here it is."},
    {"role": "user", "content": "Thanks"},
    {"role": "assistant", "content": "Grüße 😀"}
]}"#;

fn explained(check: impl FnOnce(&str, &Model, &TokenOrigins)) {
    let model = Model::demo().expect("the demo model");
    let arena = Arena::new();
    let mut body = REQUEST.as_bytes().to_vec();
    let request = ChatRequest::parse(&mut body, &arena).expect("a request");
    let prompt = model.render(&request, &RenderOptions::default()).expect("a prompt");
    let origins = model.explain(&prompt, Trust::Strict).expect("tokens");
    assert_eq!(origins.ids(), model.encode(&prompt).expect("ids").ids());
    let count = model.tokenizer().count(&prompt, Trust::Strict).expect("a count");
    assert_eq!(count, origins.ids().len());
    check(prompt.text(), &model, &origins);
}

/// The text of the tokens that `mask` marks.
fn marked(text: &str, origins: &TokenOrigins, mask: &[bool]) -> String {
    let marked = origins.tokens().iter().zip(mask).filter(|(_, marked)| **marked);
    let bytes: Vec<u8> = marked
        .flat_map(|(token, _)| text.as_bytes()[token.range.clone()].to_vec())
        .collect();
    String::from_utf8(bytes).expect("whole characters")
}

#[test]
fn ranges_follow_each_other_without_gaps() {
    explained(|text, _, origins| {
        let mut end = 0;
        for token in origins.tokens() {
            assert_eq!(token.range.start, end);
            end = token.range.end;
        }
        assert_eq!(end, text.len());
    });
}

#[test]
fn content_is_what_messages_say() {
    explained(|text, _, origins| {
        assert_eq!(
            marked(text, origins, &origins.content_mask()),
            "Be brief.Say <|open|> and [EOS]Here it is.ThanksGrüße 😀"
        );
        assert_eq!(
            marked(text, origins, &origins.role_mask(&["user"])),
            "Say <|open|> and [EOS]Thanks"
        );
        let indices = origins.message_indices();
        for (token, index) in origins.tokens().iter().zip(indices) {
            let message = token.message.map_or(-1, |message| message as i64);
            assert_eq!(message, index);
            if token.is_content {
                let field = origins.field(token).expect("content has a field");
                assert_eq!(field.to_string(), format!("messages[{index}].content"));
            }
        }
    });
}

#[test]
fn the_assistant_learns_its_words_and_how_to_stop() {
    explained(|text, model, origins| {
        let opened = "<|open|>response<|sep|>";
        let ending = "<|close|>response<|sep|><|close|>message<|sep|><|end_of_msg|>";
        assert_eq!(
            marked(text, origins, &origins.generation_mask()),
            format!("{opened}Here it is.{ending}{opened}Grüße 😀{ending}")
        );
        let stops = origins
            .labels()
            .into_iter()
            .filter(|label| model.stop_ids().iter().any(|id| i64::from(*id) == *label));
        assert_eq!(stops.count(), 2);
    });
}
