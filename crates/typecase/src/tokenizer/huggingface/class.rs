//! Tokenizer classes that do not take `tokenizer.json` as it is.
//!
//! `transformers` reads `tokenizer.json` in one of two ways. Most classes use the file. Some use its vocabulary and merges
//! alone, and put the steps around them (normalizer, split, decoder, flags of the model) together themselves, whatever
//! the file says. Which class it is, `tokenizer_class` of `tokenizer_config.json` and `model_type` of `config.json` decide.
//! Without this, the ids of a Llama 2 directory would differ wherever a control token stands before text.
//!
//! Classes of encoders (BERT, T5, XLM-RoBERTa, ...), which have no chats, are not listed: their files are used as they are.
//!
//! # Source
//! transformers 5.23.0: `AutoTokenizer.from_pretrained` and its tables in `models/auto/tokenization_auto.py`,
//! `TokenizersBackend.convert_to_native_format`, and `__init__` of each class in `models/*/tokenization_*.py`.

use crate::Result;
use crate::model::ModelFiles;
use crate::model::special_tokens::SpecialTokens;
use serde_json::{Value as Json, json};
use typecase_jinja::value::{Arena, Value};

/// A class that puts the steps together itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Llama,
    CodeLlama,
    Gemma,
    Qwen2,
    Qwen35,
    Cohere,
    Gpt2,
    GptNeoX,
}

/// What stands for a class of model in the tables of `transformers`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Registered {
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

/// The splits of two classes; they differ in what becomes of marks (`\p{M}`).
const QWEN2_SPLIT: &str = concat!(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}",
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
);
const QWEN35_SPLIT: &str = concat!(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}",
    r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
);

/// What decides on the class, and what the classes are told.
#[derive(Debug, Default)]
pub(super) struct Settings {
    model_type: String,
    /// `tokenizer_class` of `tokenizer_config.json`, or else of `config.json`.
    declared: Option<String>,
    /// Whether the directory has code of its own for it, which is not run here.
    has_code: bool,
    add_prefix_space: Option<bool>,
    legacy: bool,
}

impl Settings {
    pub(super) fn read(files: &ModelFiles) -> Result<Self> {
        let mut settings = Settings::default();
        for name in ["tokenizer_config.json", "config.json"] {
            let Some(text) = files.read_optional(name)? else {
                continue;
            };
            let arena = Arena::new();
            let config = files.parse(name, &text, &arena)?;
            let text = |key: &str| config.lookup(key).and_then(|value| value.as_str());
            if settings.declared.is_none() {
                settings.declared = text("tokenizer_class").map(str::to_owned);
            }
            if name == "config.json" {
                settings.model_type = text("model_type").unwrap_or_default().to_owned();
                continue;
            }
            let flag = |key: &str| match config.lookup(key) {
                Some(Value::Bool(flag, _)) => Some(flag),
                _ => None,
            };
            settings.has_code = match config.lookup("auto_map") {
                Some(Value::Dict(map)) => map.get("AutoTokenizer").is_some_and(|code| !code.is_none()),
                Some(value) => value.as_list().is_some(),
                None => false,
            };
            settings.add_prefix_space = flag("add_prefix_space");
            settings.legacy = flag("legacy").unwrap_or(false);
        }
        Ok(settings)
    }

    /// The class of the directory; `None` where the file is used as it is. `file` is its text.
    pub(super) fn class(&self, file: &str) -> Option<Class> {
        let registered = registered(&self.model_type);
        let Some(declared) = &self.declared else {
            return match registered {
                Some(Registered::Class(class) | Registered::Always(class)) => Some(class),
                Some(Registered::File) | None => None,
            };
        };
        let declared = Class::named(declared);
        if self.has_code {
            return declared;
        }
        let is_llama_over_bytes = declared == Some(Class::Llama) && file.contains("\"ByteLevel\"");
        match registered {
            Some(Registered::File) => None,
            Some(Registered::Always(class)) => Some(class),
            _ if is_llama_over_bytes => None,
            _ => declared,
        }
    }
}

fn registered(model_type: &str) -> Option<Registered> {
    if FILE.contains(&model_type) {
        return Some(Registered::File);
    }
    let mut classes = CLASSES.iter();
    classes.find_map(|(registered, types)| types.contains(&model_type).then_some(*registered))
}

impl Class {
    fn named(name: &str) -> Option<Self> {
        Some(match name.strip_suffix("Fast").unwrap_or(name) {
            "LlamaTokenizer" => Class::Llama,
            "CodeLlamaTokenizer" => Class::CodeLlama,
            "GemmaTokenizer" => Class::Gemma,
            "Qwen2Tokenizer" => Class::Qwen2,
            "Qwen3_5Tokenizer" => Class::Qwen35,
            "CohereTokenizer" => Class::Cohere,
            "GPT2Tokenizer" => Class::Gpt2,
            "GPTNeoXTokenizer" => Class::GptNeoX,
            _ => return None,
        })
    }

    /// Adds the special tokens that the class has where the configuration names none.
    pub(super) fn default_tokens(self, tokens: &mut SpecialTokens) {
        const END: &str = "<|endoftext|>";
        let named: &[(&str, &str)] = match self {
            Class::Llama => &[("unk_token", "<unk>"), ("bos_token", "<s>"), ("eos_token", "</s>")],
            Class::CodeLlama => &[
                ("unk_token", "<unk>"),
                ("bos_token", "<s>"),
                ("eos_token", "</s>"),
                ("prefix_token", "▁<PRE>"),
                ("middle_token", "▁<MID>"),
                ("suffix_token", "▁<SUF>"),
                ("eot_token", "▁<EOT>"),
                ("fill_token", "<FILL_ME>"),
            ],
            Class::Gemma => &[
                ("unk_token", "<unk>"),
                ("bos_token", "<bos>"),
                ("eos_token", "<eos>"),
                ("pad_token", "<pad>"),
                ("mask_token", "<mask>"),
            ],
            Class::Qwen2 | Class::Qwen35 => &[("unk_token", END), ("eos_token", END), ("pad_token", END)],
            Class::Cohere => &[
                ("unk_token", "<UNK>"),
                ("bos_token", "<BOS_TOKEN>"),
                ("eos_token", "<|END_OF_TURN_TOKEN|>"),
                ("pad_token", "<PAD>"),
                ("cls_token", "<CLS>"),
                ("sep_token", "<SEP>"),
                ("mask_token", "<MASK_TOKEN>"),
            ],
            Class::Gpt2 => &[("unk_token", END), ("bos_token", END), ("eos_token", END)],
            Class::GptNeoX => &[
                ("unk_token", END),
                ("bos_token", END),
                ("eos_token", END),
                ("pad_token", "<|padding|>"),
            ],
        };
        for (name, token) in named {
            tokens.default_name(name, token);
        }
        if self == Class::CodeLlama {
            tokens.default_extra(&["▁<PRE>", "▁<MID>", "▁<SUF>", "▁<EOT>", "<FILL_ME>"]);
        }
    }

    /// Whether special tokens lose the flags that they have elsewhere.
    pub(super) fn resets_special_tokens(self) -> bool {
        self == Class::Qwen2
    }

    /// Puts the steps of the class around the vocabulary and merges of `file`, and takes its added tokens out.
    pub(super) fn rebuild(self, file: &mut Json, settings: &Settings, tokens: &SpecialTokens) {
        // What has no model is refused by whoever reads the file next.
        let Some(Json::Object(model)) = file.get_mut("model") else {
            return;
        };
        let mut model = std::mem::take(model);
        let byte_level = |add_prefix_space: bool, use_regex: bool| {
            json!({"type": "ByteLevel", "add_prefix_space": add_prefix_space, "trim_offsets": true,
                "use_regex": use_regex})
        };
        let split = |pattern: &str, add_prefix_space: bool| {
            json!({"type": "Sequence", "pretokenizers": [
                {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false},
                byte_level(add_prefix_space, false),
            ]})
        };
        let metaspace =
            |scheme: &str| json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": false});
        let spaces = |strip: bool| {
            let mut steps = vec![
                json!({"type": "Replace", "pattern": {"String": "▁"}, "content": " "}),
                json!({"type": "ByteFallback"}),
                json!({"type": "Fuse"}),
            ];
            if strip {
                steps.push(json!({"type": "Strip", "content": " ", "start": 1, "stop": 0}));
            }
            json!({"type": "Sequence", "decoders": steps})
        };
        let nfc = || json!({"type": "NFC"});
        let prefix = settings.add_prefix_space.unwrap_or(false);
        let llama_prefix = settings.add_prefix_space.unwrap_or(true);
        let unk = || tokens.get("unk_token").map_or(Json::Null, Json::from);
        let (normalizer, pre_tokenizer, decoder, unk, is_sentencepiece) = match self {
            Class::Llama => {
                let scheme = match (llama_prefix, settings.legacy) {
                    (false, _) => "never",
                    (true, true) => "always",
                    (true, false) => "first",
                };
                (Json::Null, metaspace(scheme), spaces(llama_prefix), Json::Null, true)
            }
            Class::CodeLlama => {
                let scheme = if llama_prefix { "first" } else { "never" };
                (Json::Null, metaspace(scheme), spaces(true), unk(), true)
            }
            Class::Gemma => (
                json!({"type": "Replace", "pattern": {"String": " "}, "content": "▁"}),
                json!({"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": false}),
                spaces(false),
                unk(),
                true,
            ),
            Class::Qwen2 => (
                nfc(),
                split(QWEN2_SPLIT, prefix),
                byte_level(true, true),
                Json::Null,
                false,
            ),
            Class::Qwen35 => (
                nfc(),
                split(QWEN35_SPLIT, prefix),
                byte_level(true, true),
                Json::Null,
                false,
            ),
            Class::Cohere => {
                let steps = json!({"type": "Sequence", "pretokenizers": [
                    {"type": "Digits", "individual_digits": true}, byte_level(prefix, true)]});
                (nfc(), steps, byte_level(prefix, true), Json::Null, false)
            }
            Class::Gpt2 => (
                Json::Null,
                byte_level(prefix, true),
                byte_level(true, true),
                Json::Null,
                false,
            ),
            Class::GptNeoX => (
                nfc(),
                byte_level(prefix, true),
                byte_level(true, true),
                Json::Null,
                false,
            ),
        };
        let vocabulary = vocabulary(model.remove("vocab").unwrap_or_default());
        let merges = model.remove("merges").filter(|merges| !merges.is_null());
        file["model"] = json!({
            "type": "BPE",
            "dropout": null,
            "unk_token": unk,
            "continuing_subword_prefix": null,
            "end_of_word_suffix": null,
            "fuse_unk": is_sentencepiece,
            "byte_fallback": is_sentencepiece,
            "ignore_merges": false,
            "vocab": vocabulary,
            "merges": merges.unwrap_or_else(|| json!([])),
        });
        file["normalizer"] = normalizer;
        file["pre_tokenizer"] = pre_tokenizer;
        file["decoder"] = decoder;
    }
}

/// A vocabulary by token. That of a unigram model is a list of tokens and scores, whose places are their ids.
fn vocabulary(vocabulary: Json) -> Json {
    let Json::Array(list) = vocabulary else {
        return vocabulary;
    };
    let token = |entry: &Json| match entry {
        Json::String(token) => Some(token.clone()),
        entry => entry.get(0)?.as_str().map(str::to_owned),
    };
    let ids = list.iter().enumerate();
    ids.filter_map(|(id, entry)| Some((token(entry)?, Json::from(id))))
        .collect()
}
