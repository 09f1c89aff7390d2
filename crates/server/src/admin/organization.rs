//! `longshored admin organization …`

mod standing;

use clap::Subcommand;
use domain::id::OrganizationId;
use domain::organization::Plan;
use domain::time::to_wire;
use serde::Serialize;
use store::Shard;
use store::control::audit::Author;
use store::control::berth::{self, Place};
use store::control::organization::{self, Organization};
use store::shard::account;

use crate::admin::AdminFailure;
use crate::admin::Desk;
use crate::admin::PAGE;
use crate::admin::argument::{self, Quota};
pub(super) use crate::admin::organization::standing::Standing;
use crate::admin::printer::Shown;
use crate::admin::random;

#[derive(Debug, Subcommand)]
pub(super) enum OrganizationCommand {
    /// Make an organization in the berth that has the fewest.
    Create {
        #[arg(value_parser = argument::name)]
        name: String,
        #[arg(long, value_parser = argument::plan())]
        plan: Plan,
        /// Only berths of this shard.
        #[arg(long)]
        shard: Option<String>,
    },
    /// Show all organizations, oldest first.
    List,
    /// Show one organization.
    Show {
        #[arg(value_parser = argument::id::<domain::id::OrganizationKind>)]
        id: OrganizationId,
    },
    /// Give an organization another plan; nodes follow within about a second.
    SetPlan {
        #[arg(value_parser = argument::id::<domain::id::OrganizationKind>)]
        id: OrganizationId,
        #[arg(value_parser = argument::plan())]
        plan: Plan,
    },
    /// Give an organization a monthly quota of tokens of its own, or its plan's again.
    SetQuota {
        #[arg(value_parser = argument::id::<domain::id::OrganizationKind>)]
        id: OrganizationId,
        /// A number, `plan` or `unlimited`; 0 refuses everything that counts.
        #[arg(value_name = "TOKENS", value_parser = argument::quota)]
        quota: Quota,
    },
}

pub(super) async fn run(
    command: OrganizationCommand,
    desk: Desk<'_>,
) -> Result<String, AdminFailure> {
    match command {
        OrganizationCommand::Create { name, plan, shard } => create(name, plan, shard, desk).await,
        OrganizationCommand::List => list(desk).await,
        OrganizationCommand::Show { id } => {
            show(organization::find(desk.control, id).await?, id, desk).await
        }
        OrganizationCommand::SetPlan { id, plan } => {
            show(
                organization::set_plan(desk.control, id, plan, &Author::console(), desk.now)
                    .await?,
                id,
                desk,
            )
            .await
        }
        OrganizationCommand::SetQuota { id, quota } => set_quota(id, quota, desk).await,
    }
}

async fn create(
    name: String,
    plan: Plan,
    shard: Option<String>,
    desk: Desk<'_>,
) -> Result<String, AdminFailure> {
    let Place { berth, shard } = place(shard, desk).await?;
    let id = OrganizationId::new(desk.now, berth, random::entropy()?);
    let Some(its_shard) = desk.shards.iter().find(|known| *known.name == *shard) else {
        return Err(AdminFailure::ShardNotConfigured(shard));
    };
    // The shard side first: the control row is the proof that it exists.
    account::open(its_shard, id, desk.now)
        .await
        .map_err(|source| AdminFailure::Shard {
            shard: shard.clone(),
            source,
        })?;
    let made = Organization {
        id,
        name,
        plan,
        berth,
        created_at: desk.now,
    };
    organization::create(desk.control, &made, &Author::console()).await?;
    desk.printer.one(&View::new(made, shard))
}

async fn place(shard: Option<String>, desk: Desk<'_>) -> Result<Place, AdminFailure> {
    if let Some(place) = berth::emptiest(desk.control, shard.as_deref()).await? {
        return Ok(place);
    }
    let Some(asked) = shard else {
        return Err(AdminFailure::NoBerths);
    };
    if berth::emptiest(desk.control, None).await?.is_none() {
        return Err(AdminFailure::NoBerths);
    }
    let mut known = berth::map(desk.control).await?;
    known.sort_unstable();
    known.dedup();
    Err(AdminFailure::NoSuchShard {
        asked,
        known: known.join(", "),
    })
}

async fn list(desk: Desk<'_>) -> Result<String, AdminFailure> {
    let map = berth::map(desk.control).await?;
    let mut views: Vec<View> = Vec::new();
    let mut after = None;
    loop {
        let page = organization::page(desk.control, after, PAGE).await?;
        let Some(last) = page.last() else {
            return desk.printer.many(&views);
        };
        after = Some(last.id);
        views.extend(page.into_iter().map(|found| {
            let shard = map.get(usize::from(found.berth.number())).cloned();
            View::new(found, shard.unwrap_or_default())
        }));
    }
}

async fn set_quota(
    id: OrganizationId,
    quota: Quota,
    desk: Desk<'_>,
) -> Result<String, AdminFailure> {
    let (found, shard) = home(id, desk).await?;
    let own = match quota {
        Quota::Plan => None,
        Quota::Own(tokens) => Some(tokens),
    };
    let changed = account::set_monthly_tokens(shard, id, own).await;
    let changed = changed.map_err(|source| AdminFailure::Unanswered {
        shard: shard.name.to_string(),
        source,
    })?;
    if !changed {
        return Err(AdminFailure::NoAccount {
            organization: id,
            shard: shard.name.to_string(),
        });
    }
    show(Some(found), id, desk).await
}

/// An organization, and the shard where its money lies.
pub(super) async fn home(
    id: OrganizationId,
    desk: Desk<'_>,
) -> Result<(Organization, &Shard), AdminFailure> {
    let found = organization::find(desk.control, id).await?;
    let found = found.ok_or(AdminFailure::NoOrganization(id))?;
    let name = berth::shard_of(desk.control, found.berth).await?;
    let name = name.ok_or(AdminFailure::NoBerths)?;
    match desk.shards.iter().find(|known| *known.name == *name) {
        Some(shard) => Ok((found, shard)),
        None => Err(AdminFailure::ShardUnknown(name)),
    }
}

/// Also while its shard is away: then its money is not known.
async fn show(
    found: Option<Organization>,
    id: OrganizationId,
    desk: Desk<'_>,
) -> Result<String, AdminFailure> {
    let found = found.ok_or(AdminFailure::NoOrganization(id))?;
    let shard = berth::shard_of(desk.control, found.berth)
        .await?
        .unwrap_or_default();
    let account = match desk.shards.iter().find(|known| *known.name == *shard) {
        Some(known) => account::find(known, id).await.ok().flatten(),
        None => None,
    };
    let plan_tokens = desk.limits.of(found.plan).monthly_tokens;
    let view = View::new(found, shard);
    desk.printer
        .one(&Standing::new(view, account, plan_tokens, desk.now))
}

#[derive(Debug, Serialize)]
pub(super) struct View {
    organization_id: String,
    name: String,
    plan: &'static str,
    berth: u16,
    shard: String,
    created_at: String,
}

impl View {
    pub(super) fn new(organization: Organization, shard: String) -> Self {
        Self {
            organization_id: organization.id.to_string(),
            name: organization.name,
            plan: organization.plan.as_str(),
            berth: organization.berth.number(),
            shard,
            created_at: to_wire(organization.created_at),
        }
    }
}

impl Shown for View {
    fn fields(&self) -> Vec<(&'static str, String)> {
        vec![
            ("organization", self.organization_id.clone()),
            ("name", self.name.clone()),
            ("plan", self.plan.to_owned()),
            ("berth", self.berth.to_string()),
            ("shard", self.shard.clone()),
            ("created", self.created_at.clone()),
        ]
    }
}
