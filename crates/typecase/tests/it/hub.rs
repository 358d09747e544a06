//! Models by their hub id: from a cache that was laid out here, and from a hub of a few lines. Nothing leaves the machine.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use typecase::model::{Hub, HubFailure};
use typecase::{ErrorKind, Fault, Model};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

fn demo_files() -> Vec<(String, Vec<u8>)> {
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/kimi-k3-demo");
    let files = std::fs::read_dir(demo)
        .expect("the demo model")
        .map(|file| file.expect("an entry").path());
    files
        .map(|file| {
            let name = file.file_name().expect("a name").to_str().expect("is UTF-8").to_owned();
            (name, std::fs::read(file).expect("can be read"))
        })
        .collect()
}

fn empty(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _was_there = std::fs::remove_dir_all(&directory);
    directory
}

/// A cache that has the demo model as `lab/demo`.
fn cache(name: &str) -> PathBuf {
    let cache = empty(name);
    let root = cache.join("models--lab--demo");
    let snapshot = root.join("snapshots").join(COMMIT);
    std::fs::create_dir_all(&snapshot).expect("a directory");
    std::fs::create_dir_all(root.join("refs/pr")).expect("a directory");
    for (file, bytes) in demo_files() {
        std::fs::write(snapshot.join(file), bytes).expect("written");
    }
    std::fs::write(root.join("refs/main"), COMMIT).expect("written");
    std::fs::write(root.join("refs/pr/1"), COMMIT).expect("written");
    std::fs::write(root.join("refs/gone"), COMMIT.replace('0', "f")).expect("written");
    std::fs::write(root.join("refs/odd"), "../..").expect("written");
    cache
}

fn failure(hub: &Hub, id: &str) -> HubFailure {
    let err = hub.files(id).expect_err("is not to be had");
    assert_eq!(err.fault(), Fault::Server);
    match err.kind() {
        ErrorKind::ModelFromHub { id: named, failure } => {
            assert_eq!(named, id);
            failure.clone()
        }
        other => panic!("{other}"),
    }
}

#[test]
fn offline_the_cache_is_all_there_is() {
    let cache = cache("hub_offline");
    let hub = Hub::from_env().cache(&cache).offline(true);
    for id in [
        "lab/demo".to_owned(),
        "lab/demo@main".to_owned(),
        "lab/demo@pr/1".to_owned(),
        format!("lab/demo@{COMMIT}"),
    ] {
        let model = Model::from_files(hub.files(&id).expect("is in the cache")).expect("a good model");
        assert_eq!(model.model_type(), Some("kimi_k3"), "{id}");
    }
    for id in ["lab/other", "lab/demo@v2", "lab/demo@gone", "lab/demo@odd", "demo"] {
        let expected = HubFailure::NotCached {
            cache: cache.display().to_string(),
        };
        assert_eq!(failure(&hub, id), expected, "{id}");
    }
    let message = hub.files("lab/other").expect_err("is not there").to_string();
    assert!(message.starts_with("lab/other is no directory, nor to be had from the hub: it is not in the cache "));
    assert!(message.ends_with(", and HF_HUB_OFFLINE is set"), "{message}");
}

#[test]
fn without_an_answer_what_was_fetched_before_counts() {
    // Nobody listens on a port that was just given back.
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.local_addr().expect("an address").port()
    };
    let cache = cache("hub_down");
    let hub = Hub::from_env()
        .cache(&cache)
        .offline(false)
        .endpoint(format!("http://127.0.0.1:{port}"));
    assert!(hub.files("lab/demo").is_ok());
    assert!(matches!(failure(&hub, "lab/other"), HubFailure::NoAnswer { .. }));
}

#[test]
fn ids_that_are_none_are_refused() {
    let hub = Hub::from_env().cache(cache("hub_ids")).offline(true);
    for id in [
        "",
        "/",
        "lab/",
        "/demo",
        "a/b/c",
        "lab/../demo",
        "..",
        "lab/.demo",
        "lab/demo-",
        "lab/de--mo",
        "lab/de mo",
        "lab/demo@",
        "lab/demo@../main",
        "lab/demo@/etc",
        "lab/demo@a b",
        &"x".repeat(97),
    ] {
        assert!(matches!(failure(&hub, id), HubFailure::BadId { .. }), "{id}");
    }
}

/// A hub that has `lab/demo`, with weights, and `lab/secret`, which it shows nobody.
struct LocalHub {
    endpoint: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl LocalHub {
    fn start(files: Vec<(String, Vec<u8>)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let endpoint = format!("http://{}", listener.local_addr().expect("an address"));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                let connection = connection.expect("a connection");
                if let Some(path) = answer(connection, &files) {
                    log.lock().expect("nobody panicked").push(path);
                }
            }
        });
        LocalHub { endpoint, asked }
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().expect("nobody panicked"))
    }
}

fn answer(mut connection: TcpStream, files: &[(String, Vec<u8>)]) -> Option<String> {
    let mut reader = BufReader::new(connection.try_clone().expect("a second handle"));
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut range = None;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        if header == "\r\n" || header.is_empty() {
            break;
        }
        if let Some((_, value)) = header
            .split_once(':')
            .filter(|(name, _)| name.eq_ignore_ascii_case("range"))
        {
            range = Some(value.trim_ascii().trim_start_matches("bytes=").to_owned());
        }
    }
    let revision = path.strip_prefix("/api/models/lab/demo/revision/");
    let resolve = path.strip_prefix(&format!("/lab/demo/resolve/{COMMIT}/"));
    let file = resolve.and_then(|name| files.iter().find(|(file, _)| file == name));
    let (status, headers, body) = match (revision, file) {
        (Some("main" | COMMIT), _) => {
            let names: Vec<_> = files
                .iter()
                .map(|(name, _)| serde_json::json!({ "rfilename": name }))
                .collect();
            let info = serde_json::json!({ "sha": COMMIT, "siblings": names }).to_string();
            ("200 OK", String::new(), info.into_bytes())
        }
        (_, Some((name, bytes))) => {
            let range = range.unwrap_or_default();
            let (from, to) = range.split_once('-')?;
            let from: usize = from.parse().ok()?;
            let to = to.parse().map_or(bytes.len(), |to: usize| to + 1);
            let headers = format!(
                "etag: \"{name}-1\"\r\nx-repo-commit: {COMMIT}\r\ncontent-range: bytes {from}-{}/{}\r\n",
                to - 1,
                bytes.len()
            );
            ("206 Partial Content", headers, bytes[from..to].to_vec())
        }
        _ if path.contains("secret") => ("401 Unauthorized", String::new(), Vec::new()),
        _ => ("404 Not Found", String::new(), Vec::new()),
    };
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n");
    connection.write_all(head.as_bytes()).ok()?;
    connection.write_all(&body).ok()?;
    Some(path)
}

#[test]
fn only_files_that_are_read_are_fetched_and_only_once() {
    let mut files = demo_files();
    files.push(("model-00001-of-00002.safetensors".to_owned(), vec![0; 9]));
    files.push((
        "additional_chat_templates/rag.jinja".to_owned(),
        b"{{ documents }}".to_vec(),
    ));
    files.push((
        "additional_chat_templates/../../x.jinja".to_owned(),
        b"out of it".to_vec(),
    ));
    files.push(("README.md".to_owned(), b"about".to_vec()));
    let server = LocalHub::start(files);
    let cache = empty("hub_fetch");
    let hub = Hub::from_env().cache(&cache).offline(false).endpoint(&server.endpoint);
    let files = hub.files("lab/demo").expect("is to be had");
    let model = Model::from_files(files).expect("a good model");
    assert_eq!(model.model_type(), Some("kimi_k3"));
    assert_eq!(model.templates()[0].name, "rag");
    let prefix = format!("/lab/demo/resolve/{COMMIT}/");
    let asked: BTreeSet<String> = server
        .asked()
        .iter()
        .filter_map(|path| Some(path.strip_prefix(&prefix)?.to_owned()))
        .collect();
    let expected = [
        "additional_chat_templates/rag.jinja",
        "config.json",
        "generation_config.json",
        "tiktoken.model",
        "tokenizer_config.json",
    ];
    assert_eq!(asked, expected.map(str::to_owned).into());
    assert!(hub.files(&format!("lab/demo@{COMMIT}")).is_ok());
    assert!(hub.files("lab/demo").is_ok());
    assert!(
        server.asked().iter().all(|path| path.starts_with("/api/")),
        "nothing is fetched twice"
    );
    assert!(
        hub.clone().offline(true).files("lab/demo").is_ok(),
        "and then it is there offline"
    );
    assert_eq!(failure(&hub, "lab/demo@v9"), HubFailure::NotFound);
    assert_eq!(failure(&hub, "lab/other"), HubFailure::NotFound);
    assert_eq!(failure(&hub, "lab/secret"), HubFailure::Denied);
}
