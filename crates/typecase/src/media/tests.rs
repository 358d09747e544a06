use super::*;
use crate::ErrorKind;
use crate::prompt::Modality;
use std::path::Path;
use typecase_jinja::value::{Arena, List, json};

/// A case of a golden file, as far as these tests read it.
struct Case<'a>(Value<'a>);

impl<'a> Case<'a> {
    fn get(&self, key: &str) -> Option<Value<'a>> {
        self.0.lookup(key)
    }

    fn int(&self, key: &str) -> u64 {
        match self.get(key) {
            Some(Value::Int(int, _)) => int as u64,
            other => panic!("{key} of {:?} is {other:?}", self.0),
        }
    }

    fn text(&self, key: &str) -> &'a str {
        self.get(key).and_then(|value| value.as_str()).expect(key)
    }

    fn size(&self) -> ImageSize {
        ImageSize::new(self.int("width") as u32, self.int("height") as u32)
    }
}

/// The cases of a golden file; none, said so, where the file is not there.
fn golden(path: &str, arena: &Arena, mut check: impl FnMut(&Case<'_>)) -> usize {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("skipped: {} is missing", path.display());
        return 0;
    };
    let mut count = 0;
    for line in text.lines() {
        let case = Case(json::parse_str(line, arena).expect("golden files are JSON"));
        if case.get("meta").is_none() {
            check(&case);
            count += 1;
        }
    }
    count
}

#[test]
fn kimi_k3_images_are_counted_as_in_vllm() {
    let arena = Arena::new();
    let count = golden("../shared/conformance/native/kimi_k3_media.jsonl", &arena, |case| {
        let mut limits = kimi_k3::LIMITS;
        let config = case.get("config").and_then(|config| config.as_dict());
        for (key, value) in config.into_iter().flat_map(|config| config.str_entries()) {
            let Value::Int(value, _) = value else {
                panic!("{value:?}")
            };
            match key.as_str() {
                "in_patch_limit" => limits.in_patch_limit = value as u64,
                "fixed_output_tokens" => limits.fixed_output_tokens = Some(value as u64),
                other => panic!("{other}"),
            }
        }
        let (id, size) = (case.text("id"), case.size());
        let resized = match kimi_k3::KimiK3::with_limits(limits).resize(size) {
            Ok(resized) => resized,
            Err(error) => {
                assert!(case.get("error").is_some(), "{id}: {error}");
                assert!(matches!(error.kind(), ErrorKind::EmptyImage { .. }), "{id}: {error}");
                return;
            }
        };
        assert!(case.get("error").is_none(), "{id}");
        assert_eq!(resized.token_count, case.int("num_tokens"), "{id}");
        let sizes = [resized.size, resized.padding].map(|size| [size.width_px, size.height_px]);
        let expected = ["new_width", "new_height", "pad_width", "pad_height"].map(|key| case.int(key) as u32);
        assert_eq!(sizes.as_flattened(), expected, "{id}");
        let grid = case.get("grid_thw").and_then(|grid| grid.as_list()).expect("grid_thw");
        let grid: Vec<u64> = (grid.items().iter())
            .map(|side| match side {
                Value::Int(side, _) => *side as u64,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(resized.grid_thw.as_slice(), grid, "{id}");
        assert_eq!(
            kimi_k3::KimiK3::image_prompt(size, 1).to_text(),
            case.text("prompt"),
            "{id}"
        );
        if let Some(expanded) = case.get("expanded").and_then(|text| text.as_str()) {
            let family = kimi_k3::KimiK3::with_limits(limits);
            let expansion = family.expand(&Media::Image(size)).expect("it was resized above");
            assert_eq!(expansion.to_text(), expanded, "{id}");
        }
    });
    assert!(count == 0 || count == 361, "{count}");
}

fn family(name: &str) -> Box<dyn Family> {
    match name {
        "qwen2_vl" => Box::new(qwen_vl::QwenVl::QWEN2),
        "qwen3_vl" => Box::new(qwen_vl::QwenVl::QWEN3),
        "glm4v" => Box::new(glm4v::Glm4v::GLM4V),
        "glm46v" => Box::new(glm4v::Glm4v::GLM46V),
        "gemma3" => Box::new(gemma3::Gemma3::default().with_pan_and_scan(gemma3::PanAndScan::default())),
        "llama4" => Box::new(llama4::Llama4::default()),
        "internvl" => Box::new(internvl::InternVl::HF),
        other => panic!("{other}"),
    }
}

#[test]
fn images_and_videos_are_counted_as_in_transformers() {
    let arena = Arena::new();
    let path = std::env::var("TYPECASE_MEDIA_COUNTS");
    let path = path.as_deref().unwrap_or("conformance/golden/media_counts.jsonl");
    let count = golden(path, &arena, |case| {
        let family = family(case.text("family"));
        let numbers = |key| case.get(key).and_then(|list| list.as_list());
        let media = match numbers("frames") {
            None => Media::Image(case.size()),
            Some(frames) => Media::Video(VideoSample {
                size: case.size(),
                frames: (frames.items().iter())
                    .map(|frame| match frame {
                        Value::Int(frame, _) => *frame as u64,
                        other => panic!("{other:?}"),
                    })
                    .collect(),
                fps: match case.get("fps") {
                    Some(Value::Float(fps, _)) => Some(fps),
                    Some(Value::Int(fps, _)) => Some(fps as f64),
                    _ => None,
                },
            }),
        };
        let case_text = || json::to_string(&case.0).expect("it was parsed");
        let expansion = match family.expand(&media) {
            Ok(expansion) => expansion,
            Err(error) => {
                assert!(case.get("error").is_some(), "{}: {error}", case_text());
                return;
            }
        };
        assert!(case.get("error").is_none(), "{}", case_text());
        assert_eq!(expansion.feature_count() as u64, case.int("tokens"), "{}", case_text());
        if let Some(times) = numbers("times") {
            let written = expansion.pieces().iter().filter_map(|piece| match piece {
                Piece::Text(text) => Some(text.as_ref()),
                Piece::Token { .. } => None,
            });
            assert!(
                written.eq(times.items().iter().filter_map(Value::as_str)),
                "{}",
                case_text()
            );
        }
        if let Some(tiles) = numbers("tiles") {
            let text = expansion.to_text();
            let (columns, rows) = (text.matches("tile_x").count(), text.matches("tile_y").count());
            let tiles: Vec<_> = tiles
                .items()
                .iter()
                .map(|side| matches!(side, Value::Int(1, _)))
                .collect();
            assert_eq!(rows == 0, tiles == [true, true], "{}", case_text());
            if let Some([Value::Int(r, _), Value::Int(c, _)]) = numbers("tiles").map(List::items)
                && rows > 0
            {
                assert_eq!((rows as i64, columns as i64), (*r, r * (c - 1)), "{}", case_text());
            }
        }
    });
    assert!(count > 0, "the golden file is part of the repository");
}

/// A vocabulary of registered tokens; other text has one id per byte.
#[derive(Default)]
pub(crate) struct Toy(Vec<(&'static str, u32)>);

impl Toy {
    pub(crate) fn new(tokens: &[(&'static str, u32)]) -> Self {
        Toy(tokens.to_vec())
    }
}

impl Vocabulary for Toy {
    fn token_id(&self, spelling: &str) -> Option<u32> {
        self.0.iter().find(|(token, _)| *token == spelling).map(|(_, id)| *id)
    }

    fn encode_text(&self, text: &str) -> Result<Vec<u32>> {
        Ok(text.bytes().map(u32::from).collect())
    }

    fn encode_control(&self, text: &str) -> Result<Vec<u32>> {
        let (mut ids, mut rest) = (Vec::new(), text);
        while let Some(byte) = rest.bytes().next() {
            let token = self.0.iter().find(|(token, _)| rest.starts_with(token));
            ids.push(token.map_or(u32::from(byte), |(_, id)| *id));
            rest = &rest[token.map_or(1, |(token, _)| token.len())..];
        }
        Ok(ids)
    }
}

fn with_config<T>(config: &str, then: impl FnOnce(Value<'_>) -> T) -> T {
    let arena = Arena::new();
    then(json::parse_str(config, &arena).expect("JSON"))
}

#[test]
fn every_contract_is_consistent() {
    let mut seen = Vec::new();
    for contract in contracts() {
        for model_type in contract.model_types {
            assert!(!seen.contains(model_type), "{model_type} twice");
            seen.push(*model_type);
            let config = format!("{{\"model_type\": {model_type:?}}}");
            let family = with_config(&config, |config| load(config, None, None))
                .expect("defaults")
                .expect(model_type);
            assert_eq!(family.contract().family, contract.family);
        }
        for item in contract.items {
            if let Anchor::Token { spelling, .. } = item.anchor {
                assert_eq!(item.marker.matches(spelling).count(), 1, "{}", contract.family);
            }
        }
    }
    assert!(
        with_config("{\"model_type\": \"llama\"}", |config| load(config, None, None))
            .expect("no error")
            .is_none()
    );
}

#[test]
fn settings_of_a_checkpoint_change_the_counts() {
    let count = |config: &str, preprocessor: &str, video: Option<&str>, media: &Media| {
        let arena = Arena::new();
        let parse = |text: &str| json::parse_str(text, &arena).expect("JSON");
        let family = load(parse(config), Some(parse(preprocessor)), video.map(parse)).expect("settings");
        family
            .expect("a known family")
            .token_count(media)
            .expect("a size that fits")
    };
    let image = Media::image(1000, 1000);
    let k3 = r#"{"model_type": "kimi_k3"}"#;
    assert_eq!(count(k3, "{}", None, &image), 36 * 36);
    assert_eq!(
        count(k3, r#"{"media_proc_cfg": {"fixed_output_tokens": 64}}"#, None, &image),
        64
    );
    assert_eq!(
        count(k3, r#"{"media_proc_cfg": {"in_patch_limit": 1024}}"#, None, &image),
        17 * 17
    );
    let qwen = r#"{"model_type": "qwen2_5_vl"}"#;
    assert_eq!(count(qwen, "{}", None, &image), 35 * 35);
    assert_eq!(count(qwen, r#"{"max_pixels": 100352}"#, None, &image), 11 * 11);
    assert_eq!(
        count(
            qwen,
            r#"{"size": {"longest_edge": 100352, "shortest_edge": 3136}}"#,
            None,
            &image
        ),
        11 * 11
    );
    let gemma = r#"{"model_type": "gemma3", "mm_tokens_per_image": 64}"#;
    assert_eq!(count(gemma, "{}", None, &Media::image(3000, 1000)), 64);
    assert_eq!(
        count(gemma, r#"{"do_pan_and_scan": true}"#, None, &Media::image(3000, 1000)),
        4 * 64
    );
    let internvl = r#"{"model_type": "internvl_chat", "max_dynamic_patch": 6, "use_thumbnail": false}"#;
    assert_eq!(count(internvl, "{}", None, &Media::image(1000, 500)), 2 * 256);
}

#[test]
fn a_wrong_setting_is_named() {
    let arena = Arena::new();
    let parse = |text: &str| json::parse_str(text, &arena).expect("JSON");
    let preprocessor = parse(r#"{"media_proc_cfg": {"patch_size": "14"}}"#);
    let error = load(parse(r#"{"model_type": "kimi_k3"}"#), Some(preprocessor), None).expect_err("a string");
    assert!(matches!(error.kind(), ErrorKind::ModelSetting { key, .. } if key == "media_proc_cfg.patch_size"));
    assert_eq!(error.fault(), crate::Fault::Server);
    assert_eq!(
        error.to_string(),
        r#"media_proc_cfg.patch_size is "14"; expected a positive integer"#
    );
}

#[test]
fn anchors_are_one_registered_id_each() {
    let anchors =
        |config: &str, vocabulary: &Toy| with_config(config, |config| kimi_k3::CONTRACT.anchors(config, vocabulary));
    let pad = Toy::new(&[("<|media_pad|>", 163_605)]);
    let found = anchors(r#"{"media_placeholder_token_id": 163605}"#, &pad).expect("they agree");
    assert_eq!(found.id(Modality::Image), Some(163_605));
    assert_eq!(found.id(Modality::Video), None);
    assert_eq!(anchors("{}", &pad).expect("not named"), found);
    let error = anchors(r#"{"media_placeholder_token_id": 7}"#, &pad).expect_err("another id");
    assert!(matches!(error.kind(), ErrorKind::ModelSetting { key, .. } if key == "media_placeholder_token_id"));
    let error = anchors("{}", &Toy::default()).expect_err("no such token");
    assert!(matches!(error.kind(), ErrorKind::PlaceholderNotRegistered { ids, .. } if ids.len() == 13));
    assert_eq!(error.fault(), crate::Fault::Server);
    // InternVL's marker is text: there is nothing to look up.
    let chat = with_config("{}", |config| internvl::CHAT_CONTRACT.anchors(config, &Toy::default()));
    assert_eq!(chat.expect("no anchors"), Anchors::default());
}

#[test]
fn expansions_know_which_positions_embed() {
    let vocabulary = Toy::new(&[
        ("<|media_begin|>", 900),
        ("<|media_content|>", 901),
        ("<|media_end|>", 902),
        ("<|media_pad|>", 903),
    ]);
    let expansion = kimi_k3::KimiK3::default().expand(&Media::image(30, 20)).expect("small");
    let ids = expansion.to_ids(&vocabulary).expect("all tokens are there");
    let text: Vec<u32> = "image 30x20".bytes().map(u32::from).collect();
    assert_eq!(ids.ids, [&[900][..], &text, &[901, 903, 903, 902]].concat());
    assert_eq!(ids.item, 0..ids.ids.len());
    assert_eq!(ids.embeds, std::slice::from_ref(&(13..15)));
    assert!(expansion.to_ids(&Toy::default()).is_err());
}

#[test]
fn kimi_k25_writes_a_video_in_chunks() {
    let video = VideoSample {
        size: ImageSize::new(640, 480),
        frames: (0..6).map(|frame| frame * 30).collect(),
        fps: Some(29.97),
    };
    let k25 = kimi_k25::KimiK25::default();
    assert_eq!(
        k25.video_prompt(&video),
        "00:00:00.000<|media_begin|>video<|media_content|><|media_pad|><|media_end|>\
         00:00:04.004<|media_begin|>video<|media_content|><|media_pad|><|media_end|>"
    );
    let one_frame = k25.token_count(&Media::Image(video.size)).expect("fits");
    assert_eq!(k25.token_count(&Media::Video(video)).expect("fits"), one_frame);
}

#[test]
fn media_that_a_family_does_not_take_are_refused() {
    let sound = Media::Audio {
        samples: 16_000,
        sample_rate_hz: 16_000,
    };
    for name in ["qwen2_vl", "qwen3_vl", "glm4v", "gemma3", "llama4", "internvl"] {
        let error = family(name).expand(&sound).expect_err("a sound");
        assert!(matches!(
            error.kind(),
            ErrorKind::UnsupportedMedia {
                modality: Modality::Audio,
                ..
            }
        ));
        let error = family(name).expand(&Media::image(0, 5)).expect_err("empty");
        assert!(matches!(error.kind(), ErrorKind::EmptyImage { .. }));
    }
}

proptest::proptest! {
    #[test]
    fn no_size_panics_and_counts_are_positive(
        width in 1u32..20_000,
        height in 1u32..20_000,
        name in proptest::sample::select(&["qwen2_vl", "qwen3_vl", "glm4v", "gemma3", "llama4", "internvl"][..]),
    ) {
        if let Ok(count) = family(name).token_count(&Media::image(width, height)) {
            proptest::prop_assert!(count > 0);
        }
    }

    #[test]
    fn kimi_k3_never_exceeds_its_limits(width in 1u32.., height in 1u32..) {
        let resized = kimi_k3::KimiK3::default().resize(ImageSize::new(width, height)).expect("not empty");
        proptest::prop_assert!(resized.token_count >= 1);
        proptest::prop_assert!(resized.grid_thw[1].max(resized.grid_thw[2]) <= 512);
        proptest::prop_assert_eq!(resized.token_count, resized.grid_thw[1] * resized.grid_thw[2] / 4);
    }
}
