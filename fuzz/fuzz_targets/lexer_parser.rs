//! A template compiles or is refused with a place in it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use typecase_jinja::Template;

fuzz_target!(|source: &str| {
    match Template::compile(source) {
        Ok(template) => assert!(template.source().len() <= source.len()),
        Err(error) => {
            if let Some(position) = error.position() {
                assert!(position.offset as usize <= source.len(), "{error}");
                assert!(position.line >= 1 && position.column >= 1, "{error}");
            }
            assert!(!error.to_string().is_empty());
        }
    }
});
