//! The standard requests, as `make_workloads.py` writes them: OpenAI wire form, arguments as JSON strings.

use std::{fs, path::PathBuf};

/// Names of the standard requests, in order of size. `w5` is a conversation whose prefixes are rendered turn by turn.
pub const NAMES: [&str; 4] = ["w1", "w2", "w3", "w4"];

/// One request as text.
pub struct Workload {
    /// `w1`, `w2`, ...
    pub name: &'static str,
    /// The request body.
    pub json: String,
}

/// `bench/` itself, where the git-ignored data lies unless the environment says otherwise.
#[must_use]
pub fn home() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Reads the standard requests from `TYPECASE_WORKLOADS` or `bench/workloads`.
///
/// # Errors
/// Names the file that is missing; the README says how to make them.
pub fn load() -> Result<Vec<Workload>, String> {
    NAMES
        .iter()
        .map(|name| {
            Ok(Workload {
                name,
                json: load_one(name)?,
            })
        })
        .collect()
}

/// Reads one request by name, `w5` included.
///
/// # Errors
/// Names the file that is missing.
pub fn load_one(name: &str) -> Result<String, String> {
    let directory = std::env::var_os("TYPECASE_WORKLOADS").map_or_else(|| home().join("workloads"), PathBuf::from);
    let path = directory.join(format!("{name}.json"));
    fs::read_to_string(&path).map_err(|err| format!("{}: {err} (see README: make_workloads.py)", path.display()))
}

/// The prefixes of `w5` that a server would see: each ends with a user's message, the next holds the answer as well.
///
/// # Errors
/// If the file is missing or is no request.
pub fn turns() -> Result<Vec<String>, String> {
    let mut request: serde_json::Value =
        serde_json::from_str(&load_one("w5")?).map_err(|err| format!("w5.json: {err}"))?;
    let messages = request["messages"]
        .as_array()
        .cloned()
        .ok_or("w5.json has no messages")?;
    let mut turns = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        if message["role"] == "user" {
            request["messages"] = messages[..=at].into();
            turns.push(request.to_string());
        }
    }
    Ok(turns)
}
