//! A request becomes a prompt or is refused with a path; the segments cover the prompt.

#![no_main]

use libfuzzer_sys::fuzz_target;
use typecase::format::kimi_k3::{KimiK3, Profile, Reference};
use typecase::request::{ChatRequest, ParseOptions, Validation};
use typecase::value::Arena;
use typecase::{Format, RenderOptions};

fuzz_target!(|body: &[u8]| {
    let profiles = [Profile::Served, Profile::Reference(Reference::default())];
    for (validation, profile) in [Validation::Strict, Validation::Shape].into_iter().zip(profiles) {
        let mut body = body.to_vec();
        let arena = Arena::new();
        let options = ParseOptions::default().validation(validation);
        let Ok(request) = ChatRequest::parse_with(&mut body, &arena, &options) else {
            continue;
        };
        if let Ok(prompt) = KimiK3::new(profile).render(&request, &RenderOptions::default()) {
            let mut covered = 0;
            for segment in prompt.segments() {
                assert!(segment.end >= covered && prompt.text().is_char_boundary(segment.end));
                covered = segment.end;
            }
            assert_eq!(covered, prompt.text().len());
        }
    }
});
