//! The callback settings of projects, cached for a few seconds, so that deliver reads them once
//! for many callbacks.

use std::collections::HashSet;
use std::sync::Arc;

use chrono::TimeDelta;
use domain::callback_settings::CallbackSettings;
use domain::callback_signature::{CallbackSigner, SigningRoots};
use domain::id::ProjectId;
use domain::recent_map::RecentMap;
use domain::time::Timestamp;
use store::Shard;
use store::shard::callback_settings;

/// A change of the settings takes effect within this time.
const MAX_SETTINGS_AGE: TimeDelta = TimeDelta::seconds(5);
/// More than one step sends callbacks of. The least recently read are forgotten first.
const MAX_CACHED_PROJECTS: usize = 32_768;

/// Whether and how a callback is signed.
#[derive(Debug, Clone)]
pub(super) enum CallbackSigning {
    Off,
    On(Arc<CallbackSigner>),
    /// The project has signing on, but this process has no root to derive the secrets from.
    RootMissing,
}

#[derive(Debug, Clone)]
struct CachedSettings {
    read_at: Timestamp,
    signing: CallbackSigning,
    includes_metadata: bool,
}

#[derive(Debug)]
pub(super) struct ProjectSettings {
    roots: Option<SigningRoots>,
    cached: RecentMap<ProjectId, CachedSettings>,
}

impl ProjectSettings {
    pub(super) fn new(roots: Option<SigningRoots>) -> Self {
        Self {
            roots,
            cached: RecentMap::new(MAX_CACHED_PROJECTS),
        }
    }

    /// Reads the settings of those projects whose cached ones are missing or too old.
    pub(super) async fn refresh(
        &mut self,
        shard: &Shard,
        projects: impl Iterator<Item = ProjectId>,
        now: Timestamp,
    ) -> Result<(), store::Error> {
        let stale: HashSet<ProjectId> = projects.filter(|it| !self.is_fresh(*it, now)).collect();
        if stale.is_empty() {
            return Ok(());
        }
        let stale: Vec<ProjectId> = stale.into_iter().collect();
        let mut read = callback_settings::list(shard, &stale).await?;
        for project in stale {
            let settings = read.remove(&project).unwrap_or_default();
            let cached = CachedSettings {
                read_at: now,
                signing: self.signing_of(project, &settings),
                includes_metadata: settings.includes_metadata,
            };
            self.cached.insert(project, cached);
        }
        Ok(())
    }

    fn is_fresh(&self, project: ProjectId, now: Timestamp) -> bool {
        let cached = self.cached.get(&project);
        cached.is_some_and(|cached| (now - cached.read_at).abs() < MAX_SETTINGS_AGE)
    }

    fn signing_of(&self, project: ProjectId, settings: &CallbackSettings) -> CallbackSigning {
        if !settings.is_signed {
            return CallbackSigning::Off;
        }
        let roots = self.roots.as_ref();
        let signer = roots.and_then(|roots| CallbackSigner::new(roots, project, settings));
        signer.map_or(CallbackSigning::RootMissing, |signer| {
            CallbackSigning::On(Arc::new(signer))
        })
    }

    /// How to sign, once the project's settings were read. A project that is not cached counts as
    /// one without a root: its callback is never sent unsigned.
    pub(super) fn signing(&self, project: ProjectId) -> CallbackSigning {
        let cached = self.cached.get(&project);
        cached.map_or(CallbackSigning::RootMissing, |cached| {
            cached.signing.clone()
        })
    }

    pub(super) fn includes_metadata(&self, project: ProjectId) -> bool {
        let cached = self.cached.get(&project);
        cached.is_some_and(|cached| cached.includes_metadata)
    }
}
