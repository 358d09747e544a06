//! A conversation as training data: its ids, the labels of a loss, and a mask of what the user says.
//!
//! ```text
//! cargo run -p typecase --example training_labels
//! cargo run -p typecase --example training_labels -- REQUEST.json MODEL_DIRECTORY
//! ```
//! Without arguments: the conversation below with the demo model. A request that is a conversation to learn from says
//! `"add_generation_prompt": false`; else its prompt ends with a turn that is opened for the model.

use typecase::tokenizer::{IGNORED_LABEL, Trust};
use typecase::value::Arena;
use typecase::{ChatRequest, Model};

const CONVERSATION: &str = r#"{
    "messages": [
        {"role": "user", "content": "Do bees sleep?"},
        {"role": "assistant", "content": "Yes, mostly at night."},
        {"role": "user", "content": "Where?"},
        {"role": "assistant", "content": "In the hive; foragers near its edge."}
    ],
    "reasoning_effort": "none",
    "add_generation_prompt": false
}"#;

#[expect(clippy::print_stdout, reason = "it shows what it makes")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut body = match arguments.next() {
        Some(file) => std::fs::read(file)?,
        None => CONVERSATION.as_bytes().to_vec(),
    };
    let model = match arguments.next() {
        Some(directory) => Model::load(directory)?,
        None => Model::demo()?,
    };

    let arena = Arena::new();
    let request = ChatRequest::parse(&mut body, &arena)?;
    let prompt = model.render(&request, &Default::default())?;
    let origins = model.explain(&prompt, Trust::Strict)?;

    let ids = origins.ids();
    let labels = origins.labels();
    let said_by_user = origins.role_mask(&["user"]);
    println!("ids    {ids:?}");
    println!("labels {labels:?}");
    println!(
        "user   {:?}",
        said_by_user.iter().map(|&said| u8::from(said)).collect::<Vec<_>>()
    );

    println!("\nWhat is learned, one turn per line:");
    for turn in labels
        .split(|&label| label == IGNORED_LABEL)
        .filter(|turn| !turn.is_empty())
    {
        let turn: Vec<u32> = turn
            .iter()
            .map(|&label| u32::try_from(label))
            .collect::<Result<_, _>>()?;
        println!("{:?}", model.tokenizer().decode(&turn)?);
    }

    println!("\nWhere the tokens of the user came from:");
    for (token, _) in origins.tokens().iter().zip(said_by_user).filter(|(_, said)| *said) {
        let field = origins.field(token).map(ToString::to_string).unwrap_or_default();
        println!(
            "{field:22} {:?}",
            String::from_utf8_lossy(&prompt.text().as_bytes()[token.range.clone()])
        );
    }
    Ok(())
}
