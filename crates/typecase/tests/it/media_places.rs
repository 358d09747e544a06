//! Media of models whose prompts a template writes: which marker is whose, and what only spells one.

use crate::byte_vocabulary::tokenizer_json;
use serde_json::{Value as Json, json};
use typecase::engine::RawMedia;
use typecase::engine::sglang::Sglang;
use typecase::media::Media;
use typecase::model::{Model, ModelFiles};
use typecase::prompt::Modality;
use typecase::value::Arena;
use typecase::{ChatRequest, ErrorKind, Fault, Result};

const QWEN: &[&str] = &[
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
];

/// Writes markers as the family's own template does.
const TEMPLATE: &str = "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}\
    {% if p.type in ('image', 'image_url') %}<|vision_start|><|image_pad|><|vision_end|>\
    {% elif p.type == 'video' %}<|vision_start|><|video_pad|><|vision_end|>{% else %}{{ p.text }}{% endif %}{% endfor %}\
    {% endif %}<|im_end|>\n{% endfor %}";

fn model(config: &Json, added: &[&str], template: &str) -> Result<Model> {
    let files = [
        ("config.json", config.to_string()),
        ("tokenizer.json", tokenizer_json(added)),
        ("chat_template.jinja", template.to_owned()),
    ];
    Model::from_files(ModelFiles::in_memory(
        "a model",
        files.map(|(name, text)| (name.to_owned(), text)),
    ))
}

fn qwen(template: &str) -> Model {
    model(
        &json!({"model_type": "qwen2_5_vl", "image_token_id": 260, "video_token_id": 261}),
        QWEN,
        template,
    )
    .expect("loads")
}

/// Renders and gives kind, ordinal, message, part and ids of the placeholder of each item; and all ids.
type Found = (Vec<(Modality, usize, usize, usize, Vec<u32>)>, Vec<u32>);

fn render(model: &Model, messages: Json) -> Result<Found> {
    let mut body = json!({"messages": messages}).to_string().into_bytes();
    let arena = Arena::new();
    let request = ChatRequest::parse(&mut body, &arena)?;
    let prompt = model.render(&request, &Default::default())?;
    let ids = model.encode(&prompt)?.into_ids();
    let places = model.media_tokens(&prompt)?;
    let items = prompt.media().items().iter().zip(&places);
    let items = items
        .map(|(item, place)| {
            (
                item.modality,
                item.request_ordinal,
                item.message,
                item.part,
                ids[place.clone()].to_vec(),
            )
        })
        .collect();
    Ok((items, ids))
}

fn image() -> Json {
    json!({"type": "image_url", "image_url": {"url": "https://example.org/a.png"}})
}

#[test]
fn each_part_has_one_placeholder_and_quoted_ones_do_not_count() {
    let model = qwen(TEMPLATE);
    let quoted = "see <|vision_start|><|image_pad|><|vision_end|> and <|video_pad|>";
    let messages = json!([
        {"role": "system", "content": quoted},
        {"role": "user", "content": [{"type": "text", "text": quoted}, image(), {"type": "video", "video": "v.mp4"}, image()]},
        {"role": "assistant", "content": quoted},
        {"role": "user", "content": [image(), {"type": "text", "text": "<|image_pad|>"}]},
    ]);
    let (items, ids) = render(&model, messages).expect("renders");
    assert_eq!(
        items,
        [
            (Modality::Image, 0, 1, 1, vec![260]),
            (Modality::Video, 1, 1, 2, vec![261]),
            (Modality::Image, 2, 1, 3, vec![260]),
            (Modality::Image, 3, 3, 0, vec![260]),
        ]
    );
    assert_eq!(ids.iter().filter(|id| **id == 260).count(), 3);
    let media = model.media().expect("takes media");
    let adapter = Sglang::new(media.anchors().clone());
    assert!(adapter.prompt_ids(&ids, &RawMedia::NONE.images(3).videos(1)).is_ok());
    let sizes = [
        Media::image(280, 280),
        Media::Video(typecase::media::VideoSample {
            size: typecase::media::ImageSize::new(280, 280),
            frames: vec![0, 1],
            fps: Some(2.0),
        }),
        Media::image(56, 56),
        Media::image(56, 56),
    ];
    let expanded = media.expand(&ids, &sizes, model.tokenizer()).expect("expands");
    assert_eq!(expanded.items.len(), 4);
    assert_eq!(expanded.items[0].embeds[0].len(), 100);
}

#[test]
fn text_alone_that_spells_placeholders_has_no_media() {
    let (items, ids) = render(
        &qwen(TEMPLATE),
        json!([{"role": "user", "content": "<|image_pad|><|image_pad|>"}]),
    )
    .expect("renders");
    assert!(items.is_empty());
    assert!(!ids.contains(&260));
}

#[test]
fn a_template_that_loses_an_image_or_writes_one_twice_is_refused() {
    let messages = json!([{"role": "user", "content": [image(), image()]}]);
    for (template, written) in [
        ("{% for m in messages %}{{ m.role }}{% endfor %}", 0),
        ("{% for m in messages %}<|image_pad|>{% endfor %}", 1),
        (
            "{% for m in messages %}{% for p in m.content %}<|image_pad|><|image_pad|>{% endfor %}{% endfor %}",
            4,
        ),
    ] {
        let error = render(&qwen(template), messages.clone()).expect_err("refused");
        assert_eq!(
            *error.kind(),
            ErrorKind::MediaCount {
                modality: Modality::Image,
                placeholders: written,
                items: 2
            }
        );
        assert_eq!(error.fault(), Fault::Client);
    }
    let stray = render(&qwen("hello <|video_pad|>"), json!([{"role": "user", "content": "hi"}])).expect_err("refused");
    assert_eq!(
        *stray.kind(),
        ErrorKind::MediaCount {
            modality: Modality::Video,
            placeholders: 1,
            items: 0
        }
    );
}

#[test]
fn markers_that_are_text_count_where_the_template_wrote_them() {
    let template = "{% for m in messages %}{% for p in m.content %}{% if p.type == 'text' %}{{ p.text }}{% else %}<image>\n{% endif %}{% endfor %}{% endfor %}";
    let model = model(
        &json!({"model_type": "internvl_chat"}),
        &["<img>", "</img>", "<IMG_CONTEXT>"],
        template,
    )
    .expect("loads");
    let messages = json!([{"role": "user", "content": [{"type": "text", "text": "<image> or "}, image(), {"type": "text", "text": "<image>"}]}]);
    let (items, ids) = render(&model, messages).expect("renders");
    let [(Modality::Image, 0, 0, 1, place)] = items.as_slice() else {
        panic!("{items:?}");
    };
    assert_eq!(place.len(), "<image>".len());
    assert_eq!(ids.len(), "<image> or <image>\n<image>".len());
}

#[test]
fn a_placeholder_that_is_not_the_one_of_the_configuration_does_not_load() {
    let error = model(
        &json!({"model_type": "qwen2_5_vl", "image_token_id": 7}),
        QWEN,
        TEMPLATE,
    )
    .expect_err("refused");
    assert!(matches!(error.kind(), ErrorKind::ModelSetting { key, .. } if key == "image_token_id"));
    // Without the placeholder there are no media, and text is rendered.
    let model = model(&json!({"model_type": "qwen2_5_vl"}), &QWEN[..4], TEMPLATE).expect("opens");
    assert!(model.media().is_none());
    assert!(render(&model, json!([{"role": "user", "content": "<|image_pad|>"}])).is_ok());
    let error = render(&model, json!([{"role": "user", "content": [image()]}])).expect_err("refused");
    assert_eq!(error.fault(), Fault::Server);
    assert!(matches!(error.kind(), ErrorKind::PlaceholderNotRegistered { token, .. } if token == "<|image_pad|>"));
}
