//! Kimi K3 in segments. The model's own encoder is no package that could be run here: `typecase` is held against its
//! recorded output elsewhere (`conformance`), and the peers are held against `typecase`, segment for segment.

use super::{dynamo, llm_tokenizer, typecase};
use crate::{Contender, Stage, Verdict, reference};

/// The contenders at `stage`.
#[must_use]
pub fn contenders(stage: Stage, json: &str) -> Vec<Contender<'_>> {
    let own = typecase::kimi_k3_segments(json);
    let own_verdict = own
        .as_ref()
        .map_or_else(|err| Verdict::Fails(err.clone()), |_| Verdict::Exact);
    let mut contenders = Vec::new();
    match stage {
        Stage::Json => contenders.push(Contender::new(
            "typecase",
            own_verdict,
            typecase::kimi_k3_from_json(json),
        )),
        Stage::Request => {
            let (per_run, run) = typecase::kimi_k3_from_request(json);
            contenders.push(Contender {
                per_run,
                ..Contender::new("typecase", own_verdict, run)
            });
        }
        Stage::Value => {}
    }
    if let Some(render) = dynamo::kimi_k3(stage, json) {
        let verdict = match (render(), &own) {
            (Err(message), _) => Verdict::Fails(message),
            (_, Err(_)) => Verdict::Unchecked,
            (Ok(prompt), Ok(own)) => {
                let segments = prompt.segments().unwrap_or_default();
                let theirs: Vec<_> = segments.iter().map(|s| (s.text.clone(), s.allow_special)).collect();
                compare(&theirs, own)
            }
        };
        contenders.push(Contender::new("dynamo", verdict, move || {
            std::hint::black_box(render()).ok();
        }));
    }
    if let Some(render) = llm_tokenizer::kimi_k3(stage, json) {
        let verdict = match &own {
            Ok(own) => reference::verdict(
                &render(),
                &own.iter().map(|(text, _)| text.as_str()).collect::<String>(),
            ),
            Err(_) => Verdict::Unchecked,
        };
        contenders.push(Contender::new("llm-tokenizer (text)", verdict, move || {
            std::hint::black_box(render()).ok();
        }));
    }
    contenders
}

fn compare(theirs: &[(String, bool)], own: &[(String, bool)]) -> Verdict {
    if theirs == own {
        return Verdict::Exact;
    }
    let at = theirs
        .iter()
        .zip(own)
        .position(|(a, b)| a != b)
        .unwrap_or(theirs.len().min(own.len()));
    let counts = (theirs.len(), own.len());
    Verdict::Differs(format!(
        "segment {at} of {counts:?}: {:?} for {:?}",
        theirs.get(at),
        own.get(at)
    ))
}
