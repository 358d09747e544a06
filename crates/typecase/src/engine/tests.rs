use super::canonical::Canonical;
use super::expand::{expand, expand_at};
use super::sglang::Sglang;
use super::vllm::{KimiK3, Resolved};
use super::*;
use crate::media::tests::Toy;
use crate::media::{Anchors, ExpansionIds, Family, ImageSize, Media, VideoSample, gemma3, kimi_k3, llama4, qwen_vl};
use crate::{Error, ErrorKind, Fault, Result};
use proptest::prelude::*;
use std::borrow::Cow;
use typecase_jinja::value::{Arena, json};

const PAD: u32 = 163_605;
const PLACEHOLDER: [u32; 3] = [27, 91, 74];

fn adapter() -> KimiK3 {
    KimiK3::new(PAD, PLACEHOLDER).expect("not empty")
}

fn images(count: usize) -> RawMedia {
    RawMedia::NONE.images(count)
}

/// The ids are the very same memory.
#[track_caller]
fn assert_untouched(out: Result<Cow<'_, [u32]>>, ids: &[u32]) {
    match out.expect("nothing to refuse") {
        Cow::Borrowed(out) => assert!(std::ptr::eq(out, ids)),
        Cow::Owned(_) => panic!("copied"),
    }
}

#[track_caller]
fn count_mismatch(error: &Error) -> (usize, usize) {
    assert_eq!(error.fault(), Fault::Client);
    match error.kind() {
        ErrorKind::MediaCount {
            placeholders, items, ..
        } => (*placeholders, *items),
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_placeholder_becomes_the_checkpoints_own() {
    let ids = [1, PAD, 2, 3, PAD];
    let out = adapter().prompt_ids(&ids, &images(2)).expect("two for two");
    assert_eq!(*out, [1, 27, 91, 74, 2, 3, 27, 91, 74]);
    let out = adapter()
        .prompt_ids(&ids, &RawMedia::NONE.vision_chunks(2))
        .expect("unified items are images");
    assert_eq!(out.len(), 9);
}

#[test]
fn without_raw_images_nothing_is_touched() {
    let ids = [1, PAD, 2];
    assert_untouched(adapter().prompt_ids(&ids, &RawMedia::NONE), &ids);
    assert_untouched(adapter().prompt_ids(&ids, &RawMedia::NONE.audios(3)), &ids);
}

#[test]
fn a_prompt_of_vllms_own_passes_untouched() {
    let ids = [1, 27, 91, 74, 2];
    assert_untouched(adapter().prompt_ids(&ids, &images(1)), &ids);
    let empty: [u32; 0] = [];
    assert_untouched(adapter().prompt_ids(&empty, &images(1)), &empty);
}

#[test]
fn a_checkpoint_whose_placeholder_is_the_anchor_has_nothing_to_replace() {
    let same = KimiK3::new(PAD, [PAD]).expect("not empty");
    let ids = [1, PAD, 2];
    assert_untouched(same.prompt_ids(&ids, &images(1)), &ids);
    assert_eq!(
        count_mismatch(&same.prompt_ids(&ids, &images(2)).expect_err("one for two")),
        (1, 2)
    );
}

#[test]
fn counts_that_do_not_match_name_both() {
    let expanded = [1, PAD, PAD, PAD, PAD, PAD, 2];
    let error = adapter().prompt_ids(&expanded, &images(1)).expect_err("five for one");
    assert_eq!(count_mismatch(&error), (5, 1));
    assert_eq!(
        error.to_string(),
        "the prompt has 5 image placeholder(s) for 1 image item(s)"
    );
    let error = adapter().prompt_ids(&[PAD], &images(2)).expect_err("one for two");
    assert_eq!(count_mismatch(&error), (1, 2));
}

#[test]
fn a_quoted_placeholder_in_front_of_an_image_is_refused() {
    let quoted = [27, 91, 74, 5, PAD];
    let error = adapter()
        .prompt_ids(&quoted, &images(1))
        .expect_err("vLLM would bind the image to the text");
    assert!(matches!(error.kind(), ErrorKind::PlaceholderQuoted { position: 0 }));
    // Behind the last image vLLM does not look any more; without images it does not look at all.
    let behind = [PAD, 5, 27, 91, 74];
    let out = adapter().prompt_ids(&behind, &images(1)).expect("harmless");
    assert_eq!(*out, [27, 91, 74, 5, 27, 91, 74]);
    assert_untouched(adapter().prompt_ids(&[27, 91, 74], &RawMedia::NONE), &[27, 91, 74]);
}

fn resolved(out: Result<Resolved>) -> Resolved {
    out.expect("no error")
}

#[test]
fn metadata_that_is_missing_is_not_yet_known_and_wrong_metadata_is_named() {
    let vocabulary = Toy::new(&[]);
    let resolve = |config: &str| {
        let arena = Arena::new();
        KimiK3::resolve(Some(json::parse_str(config, &arena).expect("JSON")), &vocabulary)
    };
    let whole = r#"{"model_type": "kimi_k3", "media_placeholder_token_id": 163605, "image_placeholder": "<x>"}"#;
    let known = KimiK3::new(PAD, [60, 120, 62]).expect("not empty");
    assert_eq!(resolved(resolve(whole)), Resolved::KimiK3(known));
    assert_eq!(resolved(KimiK3::resolve(None, &vocabulary)), Resolved::NotYetKnown);
    for config in [
        "{}",
        r#"{"model_type": null}"#,
        r#"{"model_type": "kimi_k3"}"#,
        r#"{"model_type": "kimi_k3", "image_placeholder": "<x>"}"#,
        r#"{"model_type": "kimi_k3", "media_placeholder_token_id": 163605, "image_placeholder": null}"#,
    ] {
        assert_eq!(resolved(resolve(config)), Resolved::NotYetKnown, "{config}");
    }
    assert_eq!(resolved(resolve(r#"{"model_type": "qwen3_vl"}"#)), Resolved::OtherModel);
    for (config, key) in [
        (r#"{"model_type": 3}"#, "model_type"),
        (
            r#"{"model_type": "kimi_k3", "media_placeholder_token_id": "163605", "image_placeholder": "<x>"}"#,
            "media_placeholder_token_id",
        ),
        (
            r#"{"model_type": "kimi_k3", "media_placeholder_token_id": -1, "image_placeholder": "<x>"}"#,
            "media_placeholder_token_id",
        ),
        (
            r#"{"model_type": "kimi_k3", "media_placeholder_token_id": true, "image_placeholder": "<x>"}"#,
            "media_placeholder_token_id",
        ),
        (
            r#"{"model_type": "kimi_k3", "media_placeholder_token_id": 1, "image_placeholder": ""}"#,
            "image_placeholder",
        ),
        (
            r#"{"model_type": "kimi_k3", "media_placeholder_token_id": 1, "image_placeholder": ["<x>"]}"#,
            "image_placeholder",
        ),
    ] {
        let error = resolve(config).expect_err(config);
        assert!(
            matches!(error.kind(), ErrorKind::ModelSetting { key: named, .. } if named == key),
            "{error}"
        );
        assert_eq!(error.fault(), Fault::Server);
    }
}

#[test]
fn a_million_ids_with_a_handful_of_placeholders() {
    let mut ids: Vec<u32> = (0..1_000_000).map(|at| at % 150_000 + 100).collect();
    for at in [0, 63, 64, 499_999, 999_999] {
        ids[at] = PAD;
    }
    let out = adapter().prompt_ids(&ids, &images(5)).expect("five for five");
    assert_eq!(out.len(), 1_000_010);
    assert_eq!(out[..4], [27, 91, 74, ids[1]]);
    assert_eq!(out[1_000_007..], PLACEHOLDER);
}

#[test]
fn engines_that_take_the_canonical_form_only_count() {
    let anchors = Anchors::new([(Modality::Image, 10), (Modality::Video, 11)]);
    let canonical = Canonical::new(anchors.clone());
    let ids = [1, 10, 2, 11, 10];
    let out = canonical
        .prompt_ids(&ids, &images(2).videos(1))
        .expect("as many as there are");
    assert!(std::ptr::eq(out, &ids[..]));
    let error = canonical.prompt_ids(&ids, &images(2)).expect_err("a video is missing");
    assert!(matches!(
        error.kind(),
        ErrorKind::MediaCount {
            modality: Modality::Video,
            placeholders: 1,
            items: 0
        }
    ));
    let sglang = Sglang::new(anchors);
    assert!(std::ptr::eq(
        sglang.prompt_ids(&ids, &images(2).videos(1)).expect("the same"),
        &ids[..]
    ));
    assert_eq!(
        count_mismatch(&sglang.prompt_ids(&[1, 2], &images(1)).expect_err("none for one")),
        (0, 1)
    );
}

#[test]
fn kinds_of_media_that_share_an_anchor_are_counted_together() {
    let canonical = Canonical::new(Anchors::new([(Modality::Image, PAD), (Modality::Video, PAD)]));
    let ids = [PAD, 1, PAD, PAD];
    canonical.prompt_ids(&ids, &images(2).videos(1)).expect("three");
    canonical
        .prompt_ids(&ids, &RawMedia::NONE.vision_chunks(3))
        .expect("three");
    assert!(canonical.prompt_ids(&ids, &images(2)).is_err());
}

#[test]
fn a_router_sees_what_the_worker_will() {
    let vocabulary = Toy::new(&[
        ("<|media_begin|>", 900),
        ("<|media_content|>", 901),
        ("<|media_end|>", 902),
        ("<|media_pad|>", PAD),
    ]);
    let anchors = Anchors::new([(Modality::Image, PAD)]);
    let media = [Media::image(20, 20), Media::image(50, 20)];
    let family = kimi_k3::KimiK3::default();
    let out = expand(&[7, PAD, PAD, 8], &media, &family, &anchors, &vocabulary).expect("two for two");
    let text = |text: &str| text.bytes().map(u32::from).collect::<Vec<_>>();
    let expected = [
        &[7, 900][..],
        &text("image 20x20"),
        &[901, PAD, 902, 900],
        &text("image 50x20"),
        &[901, PAD, PAD, 902, 8],
    ];
    assert_eq!(out.ids, expected.concat());
    assert_eq!(out.items[0].range, 1..16);
    assert_eq!(out.items[1].embeds, std::slice::from_ref(&(29..31)));
    let error = expand(&[PAD], &media, &family, &anchors, &vocabulary).expect_err("one for two");
    assert_eq!(count_mismatch(&error), (1, 2));
    let error = expand(
        &[PAD, PAD],
        &[Media::image(1, 1), Media::image(0, 1)],
        &family,
        &anchors,
        &vocabulary,
    )
    .expect_err("empty");
    assert_eq!(error.path().to_string(), "[1]");
}

#[test]
fn a_timed_video_takes_the_place_of_its_whole_marker() {
    let vocabulary = Toy::new(&[
        ("<|vision_start|>", 900),
        ("<|vision_end|>", 901),
        ("<|video_pad|>", 902),
        ("<|image_pad|>", 903),
    ]);
    let anchors = Anchors::new([(Modality::Image, 903), (Modality::Video, 902)]);
    let video = Media::Video(VideoSample {
        size: ImageSize::new(64, 64),
        frames: vec![0, 12, 24, 36],
        fps: Some(24.0),
    });
    let family = qwen_vl::QwenVl::QWEN3;
    let ids = [5, 900, 902, 901, 6, 900, 903, 901];
    // Listed apart by kind: each placeholder takes the next item of its own.
    let media = [Media::image(64, 64), video.clone()];
    let out = expand(&ids, &media, &family, &anchors, &vocabulary).expect("one of each");
    assert_eq!(out.ids[..2], [5, u32::from(b'<')]);
    let text: String = out
        .ids
        .iter()
        .filter_map(|id| char::from_u32(*id))
        .filter(char::is_ascii)
        .collect();
    assert_eq!(text.replace(['\u{5}', '\u{6}'], ""), "<0.2 seconds><1.2 seconds>");
    let per_frame = family.token_count(&video).expect("fits") / 2;
    assert!(out.items[0].embeds.iter().all(|range| range.len() == per_frame));
    assert_eq!(out.items[0].embeds.len(), 2);
    assert_eq!(out.ids[out.items[0].range.end], 6);
    assert_eq!(out.ids[out.items[1].range.start - 1], 900);
}

#[test]
fn gemma3s_newlines_merge_with_those_of_the_prompt() {
    let vocabulary = Toy::new(&[
        ("<start_of_image>", 900),
        ("<image_soft_token>", 901),
        ("<end_of_image>", 902),
        ("\n", 801),
        ("\n\n", 802),
        ("\n\n\n", 803),
        ("\n\n\n\n", 804),
    ]);
    /// Gemma's tokenizer has a token for runs of newlines.
    struct Newlines(Toy);
    impl crate::media::Vocabulary for Newlines {
        fn token_id(&self, spelling: &str) -> Option<u32> {
            self.0.token_id(spelling)
        }
        fn encode_text(&self, text: &str) -> Result<Vec<u32>> {
            Ok(self.0.token_id(text).map_or_else(|| vec![u32::MAX], |id| vec![id]))
        }
        fn encode_control(&self, text: &str) -> Result<Vec<u32>> {
            self.0.encode_control(text)
        }
    }
    let anchors = Anchors::new([(Modality::Image, 900)]);
    let media = [Media::image(20, 20), Media::image(50, 20)];
    let ids = [1, 801, 900, 900, 801, 2];
    let out = expand(
        &ids,
        &media,
        &gemma3::Gemma3::default(),
        &anchors,
        &Newlines(vocabulary),
    )
    .expect("two for two");
    let image = [&[900][..], &[901; 256], &[902]].concat();
    assert_eq!(out.ids, [&[1, 803][..], &image, &[804], &image, &[803, 2]].concat());
    assert_eq!(out.items[0].range, 2..260);
    assert_eq!(out.items[1].range, 261..519);
    assert_eq!(out.items[1].embeds, std::slice::from_ref(&(262..518)));
}

#[test]
fn an_anchor_within_its_own_expansion_is_expanded_once() {
    let vocabulary = Toy::new(&[
        ("<|image_start|>", 900),
        ("<|image_end|>", 901),
        ("<|patch|>", 902),
        ("<|image|>", 903),
        ("<|tile_x_separator|>", 904),
        ("<|tile_y_separator|>", 905),
    ]);
    let anchors = Anchors::new([(Modality::Image, 903)]);
    let media = [Media::image(600, 300)];
    let out = expand(&[903], &media, &llama4::Llama4::default(), &anchors, &vocabulary).expect("one for one");
    assert_eq!(out.ids.len(), 3 * 144 + 5);
    assert_eq!(out.items[0].embeds.len(), 3);
}

/// What the adapter has to do, the slow way.
fn replaced_one_by_one(ids: &[u32]) -> Vec<u32> {
    ids.iter()
        .flat_map(|id| if *id == PAD { PLACEHOLDER.to_vec() } else { vec![*id] })
        .collect()
}

proptest! {
    #[test]
    fn ids_outside_the_placeholders_are_unchanged(
        ids in proptest::collection::vec(prop_oneof![9 => 100u32..200_000, 1 => Just(PAD)], 0..400),
    ) {
        let count = ids.iter().filter(|id| **id == PAD).count();
        let out = adapter().prompt_ids(&ids, &images(count)).expect("as many as there are");
        prop_assert_eq!(out.into_owned(), replaced_one_by_one(&ids));
        prop_assert!(count == 0 || adapter().prompt_ids(&ids, &images(count + 1)).is_err());
    }

    #[test]
    fn a_scan_finds_what_a_loop_finds(ids in proptest::collection::vec(0u32..40, 0..500), wanted in 0u32..40) {
        let slow: Vec<usize> = (0..ids.len()).filter(|at| ids[*at] == wanted).collect();
        prop_assert_eq!(scan::positions(&ids, |id| id == wanted).to_vec(), slow);
    }

    #[test]
    fn expanding_keeps_what_is_between(
        ids in proptest::collection::vec(0u32..9, 1..60),
        lengths in proptest::collection::vec(1usize..5, 0..6),
    ) {
        let items: Vec<_> = lengths.iter().enumerate().take(ids.len()).map(|(at, length)| {
            let expansion = ExpansionIds { ids: vec![99; *length], item: 0..*length, ..ExpansionIds::default() };
            (at..at + 1, expansion)
        }).collect();
        let out = expand_at(&ids, &items);
        prop_assert_eq!(&out.ids[out.ids.len() - (ids.len() - items.len())..], &ids[items.len()..]);
        for item in &out.items {
            prop_assert!(out.ids[item.range.clone()].iter().all(|id| *id == 99));
        }
    }
}
