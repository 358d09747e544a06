//! Which class of tokenizer the models of a type have.
//!
//! # Source
//! `TOKENIZER_MAPPING_NAMES` and `MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS` in `models/auto/tokenization_auto.py` of
//! transformers 5.23.0, as far as the classes are those of [`Class`] or take the file as it is.

use super::Class;

/// What stands for a class of model in the tables of `transformers`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Registered {
    /// The file as it is.
    File,
    Class(Class),
    /// The class, whatever the directory says: what is on the hub is known to be wrong.
    Always(Class),
}

/// Model types whose files are used as they are, unless their directory names no class that differs.
const FILE: &[&str] = &[
    "EvollaModel",
    "arctic",
    "aria",
    "beam",
    "bigbird_pegasus",
    "camembertv2-base",
    "canary",
    "chatlm",
    "cohere_asr",
    "ernie4_5",
    "ernie4_5_moe",
    "flex_olmo",
    "fuyu",
    "glm",
    "glm4",
    "glm4_moe",
    "glm4_moe_lite",
    "glm4v",
    "glm4v_moe",
    "glm_image",
    "glmasr",
    "got_ocr2",
    "gpt_bigcode",
    "gradium_phonon_tts",
    "granite",
    "granitemoe",
    "granitemoehybrid",
    "granitemoeshared",
    "h2ovl_chat",
    "hyperclovax",
    "hyperclovax_vlm",
    "internlm2",
    "internlm3",
    "iquestcoder",
    "jamba",
    "kimi_k25",
    "kimi_linear",
    "kosmos-2",
    "llava",
    "llava_next",
    "mimo_v2_flash",
    "minicpm3",
    "minicpm_ocr",
    "minicpmv",
    "minicpmv4_6",
    "minicpmv4_7",
    "minimax_m2",
    "ministral",
    "ministral3",
    "mistral",
    "mistral3",
    "mistral_large4",
    "mixtral",
    "modernbert",
    "modernbert-decoder",
    "molmo",
    "molmo2",
    "nemo_speechlm",
    "nemotron",
    "nvfp4",
    "nystromformer",
    "olmo2",
    "olmo3",
    "olmo_hybrid",
    "opencua",
    "openvla",
    "paddleocr_vl",
    "pegasus_x",
    "persimmon",
    "phi3",
    "phi3_v",
    "phimoe",
    "pix2struct",
    "pixtral",
    "pocket_tts",
    "smolvlm",
    "stablelm",
    "step3_vl",
    "umt5",
    "vipllava",
    "voxtral",
    "voxtral_realtime",
    "xlm-roberta-xl",
];

/// Of each class the model types that have it.
const CLASSES: &[(Registered, &[&str])] = &[
    (Registered::Class(Class::Llama), &["idefics", "idefics2"]),
    (
        Registered::Class(Class::Gemma),
        &[
            "diffusion_gemma",
            "gemma",
            "gemma2",
            "gemma3",
            "gemma3_text",
            "gemma3n",
            "gemma3n_text",
            "recurrent_gemma",
            "shieldgemma2",
            "t5gemma",
            "zaya",
        ],
    ),
    (Registered::Always(Class::Qwen2), &["qwen2"]),
    (
        Registered::Class(Class::Qwen2),
        &[
            "audioflamingo3",
            "colqwen2",
            "cosmos3_omni",
            "dots3_note",
            "fun_asr_nano",
            "hunyuan_vl",
            "internvl",
            "lighton_ocr",
            "moss_transcribe_diarize",
            "ovis2",
            "qianfan_ocr",
            "qwen2_5_omni",
            "qwen2_5_vl",
            "qwen2_audio",
            "qwen2_moe",
            "qwen2_vl",
            "qwen3",
            "qwen3_asr",
            "qwen3_moe",
            "qwen3_next",
            "qwen3_omni_moe",
            "qwen3_vl",
            "qwen3_vl_moe",
            "vibevoice",
        ],
    ),
    (
        Registered::Always(Class::Qwen35),
        &["qwen3_5", "qwen3_5_moe", "qwen3_5_moe_text", "qwen4_exp"],
    ),
    (Registered::Class(Class::Qwen35), &["qwen3_5_text"]),
    (Registered::Class(Class::Cohere), &["aya_vision", "cohere", "cohere2"]),
    (Registered::Always(Class::Gpt2), &["hyperclovax_vision_v2"]),
    (
        Registered::Class(Class::Gpt2),
        &[
            "blip-2",
            "codegen",
            "dbrx",
            "emu3",
            "gpt2",
            "gpt_neo",
            "gptj",
            "instructblip",
            "instructblipvideo",
            "jais2",
            "opt",
            "phi",
            "starcoder2",
        ],
    ),
    (
        Registered::Class(Class::GptNeoX),
        &[
            "falcon_mamba",
            "gpt_neox",
            "mamba",
            "mamba2",
            "mpt",
            "olmo",
            "olmoe",
            "rwkv",
            "xlstm",
        ],
    ),
];

/// The class of the models of a type, if it is one that makes a difference here.
pub(super) fn registered(model_type: &str) -> Option<Registered> {
    if FILE.contains(&model_type) {
        return Some(Registered::File);
    }
    let mut classes = CLASSES.iter();
    classes.find_map(|(registered, types)| types.contains(&model_type).then_some(*registered))
}
