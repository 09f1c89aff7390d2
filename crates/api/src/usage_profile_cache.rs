//! A cache of what recent cargo used of its bounds, by project and model. Estimates read it.

use chrono::TimeDelta;
use domain::id::ProjectId;
use domain::load_estimate::UsageProfile;
use domain::recent_map::RecentMap;
use domain::time::Timestamp;
use parking_lot::Mutex;
use store::control::project;
use store::shard::settled_samples;
use store::{Control, Shard};

use crate::caller::Caller;

/// How long a profile is used before it is read again.
const MAX_PROFILE_AGE: TimeDelta = TimeDelta::minutes(1);
/// A model and a project each.
const MAX_CACHED_PROFILES: usize = 2_000;
/// How many projects of the organization are read if the project has too few samples.
const MAX_SIBLING_PROJECTS: u32 = 10;

#[derive(Debug)]
pub(crate) struct UsageProfileCache {
    control: Control,
    profiles: Mutex<RecentMap<(ProjectId, String), CachedProfile>>,
}

#[derive(Debug, Clone, Copy)]
struct CachedProfile {
    profile: UsageProfile,
    read_at: Timestamp,
}

impl UsageProfileCache {
    pub(crate) fn new(control: Control) -> Self {
        Self {
            control,
            profiles: Mutex::new(RecentMap::new(MAX_CACHED_PROFILES)),
        }
    }

    /// The profile of the caller's project, or of its organization if the project has too few
    /// samples.
    pub(crate) async fn find(
        &self,
        shard: &Shard,
        caller: &Caller,
        model: &str,
        now: Timestamp,
    ) -> Result<UsageProfile, store::Error> {
        let name = (caller.project, model.to_owned());
        let cached = self.profiles.lock().get(&name).copied();
        if let Some(cached) = cached
            && (now - cached.read_at).abs() < MAX_PROFILE_AGE
        {
            return Ok(cached.profile);
        }
        let mut profile =
            settled_samples::read_profile(shard, &[caller.project], model, now).await?;
        if !profile.is_sufficient() {
            let projects = self.list_projects(caller).await;
            let wider = settled_samples::read_profile(shard, &projects, model, now).await?;
            if wider.samples() > profile.samples() {
                profile = wider;
            }
        }
        let read = CachedProfile {
            profile,
            read_at: now,
        };
        self.profiles.lock().insert(name, read);
        Ok(profile)
    }

    /// Projects of the caller's organization. None while control is unreachable: an estimate is
    /// possible without them.
    async fn list_projects(&self, caller: &Caller) -> Vec<ProjectId> {
        let organization = caller.organization;
        let listed = project::list(&self.control, organization, None, MAX_SIBLING_PROJECTS).await;
        match listed {
            Ok(projects) => projects.into_iter().map(|project| project.id).collect(),
            Err(failure) => {
                let failure = failure.diagnosis();
                tracing::warn!(%organization, failure, "the projects of an organization were not read; the estimate uses one project only");
                Vec::new()
            }
        }
    }
}
