//! Ids of real vocabularies against Python's transformers and tokenizers: on recorded prompts and on random Unicode.
//!
//! `scripts/fetch_vocabularies.sh` fetches them; a vocabulary that is not there is skipped, and said to be.
//!
//! What runs by default takes a minute. `TYPECASE_SAMPLE=2000` compares so many recorded prompts and, beside them, all of
//! Unicode instead of every eighth block of it.

use crate::oracle;
use crate::tiktoken::{Numbers, every_kind_of_character, picky};
use serde_json::{Value, json};
use std::path::PathBuf;
use typecase::Tokenizer;
use typecase::prompt::SpecialTokens;

/// The directory of a vocabulary, if it was fetched.
fn fetched(name: &str) -> Option<PathBuf> {
    let directory = oracle::repository()
        .join(".cache/vocabularies")
        .join(name)
        .join("package/models");
    if directory.join("tokenizer.json").exists() {
        return Some(directory);
    }
    eprintln!("skipped: no vocabulary at {}", directory.display());
    None
}

fn ids_from(value: &Value) -> Vec<u32> {
    let ids = value.as_array().expect("a list of ids");
    ids.iter().map(|id| id.as_u64().expect("an id") as u32).collect()
}

/// Holds all that the oracle says of some texts against `tokenizer`; how many texts that were.
fn compare(tokenizer: &Tokenizer, answers: &str) -> usize {
    let mut cases = 0;
    for line in answers.lines() {
        let answer: Value = serde_json::from_str(line).expect("the answer is JSON");
        let text = answer["text"].as_str().expect("an answer has its text");
        for (policy, key) in [(SpecialTokens::Trusted, "ids"), (SpecialTokens::None, "plain")] {
            let ids = tokenizer.encode_text(text, policy).expect("any text encodes");
            let expected = ids_from(&answer[key]);
            let same = ids.iter().zip(&expected).take_while(|(a, b)| a == b).count();
            assert!(
                ids == expected,
                "{key} of {text:?} differ from {same} on: {:?} is not {:?}",
                &ids[same..(same + 8).min(ids.len())],
                &expected[same..(same + 8).min(expected.len())]
            );
        }
        let ids = ids_from(&answer["ids"]);
        let decoded = tokenizer.decode(&ids).expect("known ids");
        assert_eq!(decoded, answer["decoded"].as_str().expect("decoded"), "ids of {text:?}");
        cases += 1;
    }
    cases
}

fn hold(name: &str) {
    let Some(directory) = fetched(name) else { return };
    let tokenizer = Tokenizer::load(&directory).expect("the vocabulary loads");
    let directory = directory.to_str().expect("a path of characters");
    let spelled: Vec<String> = tokenizer
        .added_tokens()
        .iter()
        .map(|token| token.content.clone())
        .collect();
    let mut numbers = Numbers::seeded(11);
    let sample = std::env::var("TYPECASE_SAMPLE").ok();
    let (picked, step) = if sample.is_some() { (600, 1) } else { (200, 8) };
    let mut texts: Vec<String> = (0..picked).map(|_| picky(&mut numbers)).collect();
    for (i, text) in texts.iter_mut().enumerate() {
        // Added tokens in the middle of things.
        if i % 2 == 0 {
            let at = text.char_indices().nth(i % 7).map_or(0, |(at, _)| at);
            text.insert_str(at, &spelled[i % spelled.len()]);
            text.push_str(&spelled[(i * 7) % spelled.len()]);
        }
    }
    let all: Vec<char> = every_kind_of_character();
    texts.extend(
        all.chunks(1024)
            .step_by(step)
            .map(|block| block.iter().map(|c| format!("{c}a {c}{c}1")).collect()),
    );
    let input = texts
        .iter()
        .map(|text| json!({ "text": text }).to_string() + "\n")
        .collect();
    let Some(answers) = oracle::run("tokenizer_ids.py", &[directory], input) else {
        return;
    };
    assert_eq!(compare(&tokenizer, &answers), texts.len());

    let prompts = oracle::repository().join("../shared/conformance/golden/templates.jsonl.gz");
    if !prompts.exists() {
        eprintln!("skipped: no recorded prompts at {}", prompts.display());
        return;
    }
    let prompts = prompts.to_str().expect("a path of characters");
    let sample = sample.unwrap_or_else(|| "40".to_owned());
    let arguments = [directory, "--rendered", prompts, "--sample", &sample];
    if let Some(answers) = oracle::run("tokenizer_ids.py", &arguments, String::new()) {
        assert!(compare(&tokenizer, &answers) >= 20);
    }
}

#[test]
fn tekken_ids() {
    let data = oracle::repository().join(".cache/vocabularies/mistral_common/mistral_common/data");
    let Some(file) = ["tekken_240911.json"]
        .iter()
        .map(|name| data.join(name))
        .find(|file| file.exists())
    else {
        eprintln!("skipped: no tekken.json in {}", data.display());
        return;
    };
    let directory = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("tekken");
    std::fs::create_dir_all(&directory).expect("a directory");
    std::fs::copy(&file, directory.join("tekken.json")).expect("a copy");
    let tokenizer = Tokenizer::load(&directory).expect("the vocabulary loads");
    let special = tokenizer
        .encode_text("<s>[INST]x[/INST]<SPECIAL_999>", SpecialTokens::All)
        .expect("ids");
    assert_eq!([special[0], special[1], special[3], special[4]], [1, 3, 4, 999]);
    assert_eq!(
        tokenizer.decode(&special).expect("known ids"),
        "<s>[INST]x[/INST]<SPECIAL_999>"
    );
    let mut numbers = Numbers::seeded(13);
    let texts: Vec<String> = (0..1000).map(|_| picky(&mut numbers)).collect();
    let input = texts
        .iter()
        .map(|text| json!({ "text": text }).to_string() + "\n")
        .collect();
    let file = file.to_str().expect("a path of characters");
    let Some(answers) = oracle::run("tekken_ids.py", &[file], input) else {
        return;
    };
    assert_eq!(answers.lines().count(), texts.len());
    for (text, answer) in texts.iter().zip(answers.lines()) {
        let ids = tokenizer
            .encode_text(text, SpecialTokens::None)
            .expect("any text encodes");
        assert_eq!(ids, ids_from(&serde_json::from_str(answer).expect("JSON")), "{text:?}");
    }
}

#[test]
fn qwen3_ids() {
    hold("qwen3");
}

#[test]
fn llama3_1_ids() {
    hold("llama3_1");
}

#[test]
fn gptoss_ids() {
    hold("gptoss");
}

#[test]
fn deepseek_v3_ids() {
    hold("deepseek_v3");
}

#[test]
fn gemma3_ids() {
    hold("gemma3");
}

#[test]
fn llama2_ids() {
    hold("llama2");
}
