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

mod registry;
mod steps;

use crate::Result;
use crate::model::ModelFiles;
use crate::model::special_tokens::SpecialTokens;
use registry::{Registered, registered};
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
    /// Whether special tokens are ordinary text wherever they are spelled.
    pub(super) splits_special_tokens: bool,
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
            settings.splits_special_tokens = flag("split_special_tokens").unwrap_or(false);
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
}
