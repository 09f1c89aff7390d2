//! Who is asking. Every check, limit and row of a request goes by this.

use domain::id::{Berth, KeyId, OrganizationId, ProjectId};
use domain::organization::Plan;
use store::control::api_key::Holder;

/// A project, its organization, and the key in whose name they ask.
///
/// It is made in two ways only: from a key that was presented and admitted, or
/// by a part of this program that asks on somebody's behalf and has checked
/// who that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Caller {
    pub organization: OrganizationId,
    pub project: ProjectId,
    pub key: KeyId,
    pub plan: Plan,
    pub berth: Berth,
}

impl Caller {
    /// For requests made in-process: put into the extensions of the request, it stands
    /// in for the key that was not presented.
    pub const fn acting(
        organization: OrganizationId,
        project: ProjectId,
        key: KeyId,
        plan: Plan,
        berth: Berth,
    ) -> Self {
        Self {
            organization,
            project,
            key,
            plan,
            berth,
        }
    }

    pub(crate) const fn holding(holder: &Holder) -> Self {
        Self {
            organization: holder.organization,
            project: holder.project,
            key: holder.key,
            plan: holder.plan,
            berth: holder.berth,
        }
    }
}
