//! JSON is read or refused; what was read is written so that it reads back as the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use typecase_jinja::value::json::{self, WriteOptions};
use typecase_jinja::value::Arena;

fuzz_target!(|text: &str| {
    let arena = Arena::new();
    let Ok(value) = json::parse_str(text, &arena) else {
        return;
    };
    let mut written = String::new();
    if json::write(&mut written, &value, &WriteOptions::default()).is_err() {
        return;
    }
    let again_arena = Arena::new();
    let again = json::parse_str(&written, &again_arena).expect("what was written is JSON");
    let mut twice = String::new();
    json::write(&mut twice, &again, &WriteOptions::default()).expect("it was written before");
    assert_eq!(written, twice);
});
