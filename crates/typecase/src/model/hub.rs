//! Models by their Hugging Face hub id, through the cache that all tools of the hub share.
//!
//! Only the files that [`Model`](crate::Model) reads are fetched, never weights. They are asked for at the commit that the
//! revision names now; the reference to it in the cache is moved once all of them are there. Without an answer from the hub
//! the revision is what it was when it was last fetched, as in `huggingface_hub`.
//!
//! | variable | meaning |
//! |---|---|
//! | `HF_HUB_CACHE` | the cache; else `$HF_HOME/hub`, `$XDG_CACHE_HOME/huggingface/hub`, `~/.cache/huggingface/hub` |
//! | `HF_HUB_OFFLINE`, `TRANSFORMERS_OFFLINE` | `1`, `on`, `yes`, `true`: only the cache is asked |
//! | `HF_ENDPOINT` | another hub |
//! | `HF_TOKEN` | for private and gated models; else the file `token` beside the cache |
//!
//! # Source
//! `huggingface_hub/constants.py`, `file_download.py` (layout of the cache) and `utils/_validators.py` (ids).

use super::{HubFailure, ModelFiles};
use crate::{Error, ErrorKind, Result};
use hf_hub::api::sync::{Api, ApiBuilder, ApiError};
use hf_hub::{Cache, Repo, RepoType};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

const DEFAULT_ENDPOINT: &str = "https://huggingface.co";
const DEFAULT_REVISION: &str = "main";

/// A hub and its cache.
#[derive(Clone, Debug)]
#[must_use]
pub struct Hub {
    cache: Option<PathBuf>,
    endpoint: String,
    offline: bool,
    token: Option<String>,
}

impl Hub {
    /// As the environment says.
    pub fn from_env() -> Self {
        Hub {
            cache: cache_from_env(),
            endpoint: set("HF_ENDPOINT").unwrap_or_else(|| DEFAULT_ENDPOINT.to_owned()),
            offline: ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"]
                .into_iter()
                .find_map(set)
                .is_some_and(|value| is_true(&value)),
            token: set("HF_TOKEN"),
        }
    }

    /// Another cache directory, the one that has the folders `models--organization--name`.
    pub fn cache(mut self, directory: impl Into<PathBuf>) -> Self {
        self.cache = Some(directory.into());
        self
    }

    /// Another hub.
    pub fn endpoint(mut self, url: impl Into<String>) -> Self {
        self.endpoint = url.into();
        self
    }

    /// Whether only the cache is asked.
    pub fn offline(mut self, offline: bool) -> Self {
        self.offline = offline;
        self
    }

    /// The files of a model: `organization/name`, or `organization/name@revision` with a branch, tag or commit.
    ///
    /// # Errors
    /// [`ErrorKind::ModelFromHub`] (server), which says why not.
    pub fn files(&self, id: &str) -> Result<ModelFiles> {
        let failed = |failure: HubFailure| {
            Error::new(ErrorKind::ModelFromHub {
                id: id.to_owned(),
                failure,
            })
        };
        let model = HubId::parse(id).map_err(|reason| failed(HubFailure::BadId { reason }))?;
        let cache = self.cache.as_deref().ok_or_else(|| failed(HubFailure::NoCache))?;
        let snapshots = Snapshots::new(cache, &model);
        if self.offline {
            let cached = snapshots.cached();
            let cached = cached.ok_or_else(|| {
                failed(HubFailure::NotCached {
                    cache: cache.display().to_string(),
                })
            })?;
            return ModelFiles::directory(&cached);
        }
        match self.fetch(cache, &model, &snapshots) {
            Ok(directory) => ModelFiles::directory(&directory),
            Err(err) => {
                let failure = match status(&err) {
                    Some(404) => HubFailure::NotFound,
                    Some(401 | 403) => HubFailure::Denied,
                    // A hub that is down is no reason to fail on what was fetched before.
                    _ => match snapshots.cached() {
                        Some(cached) => return ModelFiles::directory(&cached),
                        None => HubFailure::NoAnswer {
                            reason: err.to_string(),
                            cache: cache.display().to_string(),
                        },
                    },
                };
                Err(failed(failure).caused_by(err))
            }
        }
    }

    /// The directory of the commit that the revision names now, with all files that are read.
    fn fetch(&self, cache: &Path, model: &HubId<'_>, snapshots: &Snapshots) -> std::result::Result<PathBuf, ApiError> {
        let api = self.api(cache)?;
        let info = api.repo(model.repo(model.revision)).info()?;
        if !is_commit(&info.sha) {
            return Err(ApiError::InvalidHeader("sha"));
        }
        let directory = snapshots.folder.join(&info.sha);
        // At the commit: the revision may move while files are fetched.
        let commit = api.repo(model.repo(&info.sha));
        for file in info.siblings.iter().map(|sibling| sibling.rfilename.as_str()) {
            if is_read(file) && !directory.join(file).exists() {
                commit.download(file)?;
            }
        }
        if info.sha != model.revision {
            Cache::new(cache.to_owned())
                .repo(model.repo(model.revision))
                .create_ref(&info.sha)?;
        }
        Ok(directory)
    }

    fn api(&self, cache: &Path) -> std::result::Result<Api, ApiError> {
        let builder = ApiBuilder::from_cache(Cache::new(cache.to_owned()))
            .with_endpoint(self.endpoint.clone())
            .with_progress(false);
        match &self.token {
            Some(token) => builder.with_token(Some(token.clone())).build(),
            None => builder.build(),
        }
    }
}

/// Whether a file of a model is one that is read.
fn is_read(file: &str) -> bool {
    let in_folder = (file.strip_prefix(ModelFiles::TEMPLATE_FOLDER)).and_then(|rest| rest.strip_prefix('/'));
    ModelFiles::NAMES.contains(&file)
        || in_folder.is_some_and(|name| name.ends_with(".jinja") && !name.contains(['/', '\\']))
}

/// The status of an answer that is a refusal.
fn status(err: &ApiError) -> Option<u16> {
    match err {
        ApiError::RequestError(err) => match err.as_ref() {
            ureq::Error::StatusCode(status) => Some(*status),
            _ => None,
        },
        ApiError::TooManyRetries(err) => status(err),
        _ => None,
    }
}

/// An id that was checked: nothing in it leads out of the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HubId<'i> {
    name: &'i str,
    revision: &'i str,
}

impl<'i> HubId<'i> {
    pub(super) fn parse(id: &'i str) -> std::result::Result<Self, &'static str> {
        let (name, revision) = id.split_once('@').unwrap_or((id, DEFAULT_REVISION));
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.len() > 96 {
            return Err("it is longer than 96 characters");
        }
        if name.split('/').count() > 2 {
            return Err("it has more than one slash");
        }
        for part in name.split('/') {
            if part.is_empty() || !part.chars().all(is_word) {
                return Err("its parts are letters, digits, `-`, `_` and `.`");
            }
            if part.starts_with(['-', '.']) || part.ends_with(['-', '.']) || part.contains("--") || part.contains("..")
            {
                return Err("its parts neither begin nor end with `-` or `.`, nor have two in a row");
            }
        }
        let is_path = |part: &str| !part.is_empty() && !part.starts_with('.') && part.chars().all(is_word);
        if !revision.split('/').all(is_path) {
            return Err("the revision is no name of a branch, tag or commit");
        }
        Ok(HubId { name, revision })
    }

    fn repo(&self, revision: &str) -> Repo {
        Repo::with_revision(self.name.to_owned(), RepoType::Model, revision.to_owned())
    }
}

/// What the cache has of a model.
struct Snapshots {
    /// One folder per commit.
    folder: PathBuf,
    /// The file that names the commit of the revision.
    reference: PathBuf,
    revision: String,
}

impl Snapshots {
    fn new(cache: &Path, model: &HubId<'_>) -> Self {
        let repo = model.repo(model.revision);
        let root = cache.join(repo.folder_name());
        Snapshots {
            folder: root.join("snapshots"),
            reference: root.join("refs").join(model.revision),
            revision: model.revision.to_owned(),
        }
    }

    /// The directory of the revision as it was when it was last fetched.
    fn cached(&self) -> Option<PathBuf> {
        let commit = match fs::read_to_string(&self.reference) {
            Ok(commit) => commit.trim_ascii().to_owned(),
            // A commit needs no reference.
            Err(_) => self.revision.clone(),
        };
        let directory = self.folder.join(&commit);
        (is_commit(&commit) && directory.is_dir()).then_some(directory)
    }
}

/// Whether a name can be that of a commit, and of a folder of the cache for it.
fn is_commit(name: &str) -> bool {
    name.len() >= 7 && name.chars().all(|c| c.is_ascii_hexdigit())
}

fn set(variable: &str) -> Option<String> {
    env::var(variable).ok().filter(|value| !value.is_empty())
}

fn is_true(value: &str) -> bool {
    ["1", "on", "yes", "true"]
        .iter()
        .any(|word| value.eq_ignore_ascii_case(word))
}

fn cache_from_env() -> Option<PathBuf> {
    let path = |variable: &str| set(variable).map(|value| expand_home(&value));
    path("HF_HUB_CACHE")
        .or_else(|| path("HUGGINGFACE_HUB_CACHE"))
        .or_else(|| path("HF_HOME").map(|home| home.join("hub")))
        .or_else(|| path("XDG_CACHE_HOME").map(|caches| caches.join("huggingface/hub")))
        .or_else(|| env::home_dir().map(|home| home.join(".cache/huggingface/hub")))
}

/// `~/` is the home directory, as in the shell: variables that are set in files are not expanded by one.
fn expand_home(path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(path),
    }
}
