//! Why a model could not be had from the Hugging Face hub.

use std::fmt;

/// Why a model could not be had from the Hugging Face hub.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HubFailure {
    /// The id is none.
    BadId {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// It is not in the cache, and the hub is not asked in offline mode.
    NotCached {
        /// The cache's directory.
        cache: String,
    },
    /// The hub has no such model, or no such revision of it.
    NotFound,
    /// The model is private or gated, or there is none: the hub does not tell which.
    Denied,
    /// The hub could not be reached or gave no usable answer, and the model is not in the cache.
    NoAnswer {
        /// What happened.
        reason: String,
        /// The cache's directory.
        cache: String,
    },
    /// There is no cache directory to put it in: neither `HF_HUB_CACHE` nor `HF_HOME` nor a home directory.
    NoCache,
}

impl fmt::Display for HubFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadId { reason } => write!(
                f,
                "a hub id is `name` or `organization/name`, with `@revision` or not; {reason}"
            ),
            Self::NotCached { cache } => write!(f, "it is not in the cache {cache}, and HF_HUB_OFFLINE is set"),
            Self::NotFound => f.write_str("the hub has no such model or revision"),
            Self::Denied => {
                f.write_str("it is private or gated, or there is none; HF_TOKEN opens what one has access to")
            }
            Self::NoAnswer { reason, cache } => {
                write!(
                    f,
                    "it is not in the cache {cache}, and the hub gave no answer: {reason}"
                )
            }
            Self::NoCache => f.write_str("there is no cache directory: set HF_HOME or HF_HUB_CACHE"),
        }
    }
}
