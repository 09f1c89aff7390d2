//! `longshored admin organization …`

mod details;

use clap::Subcommand;
use domain::id::OrganizationId;
use domain::organization::Plan;
use domain::time::to_wire;
use serde::Serialize;
use store::Shard;
use store::control::audit_log::{Actor, AuditEvent};
use store::control::berth::{self, BerthLocation};
use store::control::organization::{self, Organization};
use store::shard::account;

use crate::admin::AdminContext;
use crate::admin::AdminFailure;
use crate::admin::ROWS_PER_PAGE;
use crate::admin::argument::{self, TokenQuota};
pub(super) use crate::admin::organization::details::OrganizationDetails;
use crate::admin::printer::AdminView;
use crate::admin::random;

#[derive(Debug, Subcommand)]
pub(super) enum OrganizationCommand {
    /// Create an organization in the berth with the fewest organizations.
    Create {
        #[arg(value_parser = argument::name)]
        name: String,
        #[arg(long, value_parser = argument::plan())]
        plan: Plan,
        /// Use only berths on this shard.
        #[arg(long)]
        shard: Option<String>,
    },
    /// List all organizations, oldest first.
    List,
    /// Show one organization with its credit and monthly tokens.
    Show {
        #[arg(value_parser = argument::id::<domain::id::OrganizationKind>)]
        id: OrganizationId,
    },
    /// Change the plan of an organization; takes effect within about a second.
    SetPlan {
        #[arg(value_parser = argument::id::<domain::id::OrganizationKind>)]
        id: OrganizationId,
        #[arg(value_parser = argument::plan())]
        plan: Plan,
    },
    /// Set the monthly token quota of an organization, or return to the quota of its plan.
    SetQuota {
        #[arg(value_parser = argument::id::<domain::id::OrganizationKind>)]
        id: OrganizationId,
        /// A number of tokens, `plan` or `unlimited`; 0 refuses all loads that use tokens.
        #[arg(value_name = "TOKENS", value_parser = argument::quota)]
        quota: TokenQuota,
    },
}

pub(super) async fn run(
    command: OrganizationCommand,
    context: AdminContext<'_>,
) -> Result<String, AdminFailure> {
    match command {
        OrganizationCommand::Create { name, plan, shard } => {
            create(name, plan, shard, context).await
        }
        OrganizationCommand::List => list(context).await,
        OrganizationCommand::Show { id } => {
            show(organization::find(context.control, id).await?, id, context).await
        }
        OrganizationCommand::SetPlan { id, plan } => {
            show(
                organization::set_plan(context.control, id, plan, &Actor::console(), context.now)
                    .await?,
                id,
                context,
            )
            .await
        }
        OrganizationCommand::SetQuota { id, quota } => set_quota(id, quota, context).await,
    }
}

async fn create(
    name: String,
    plan: Plan,
    shard: Option<String>,
    context: AdminContext<'_>,
) -> Result<String, AdminFailure> {
    let BerthLocation { berth, shard } = choose_berth(shard, context).await?;
    let id = OrganizationId::new(context.now, berth, random::entropy()?);
    let Some(home) = context.shards.iter().find(|known| *known.name == *shard) else {
        return Err(AdminFailure::ShardNotConfigured(shard));
    };
    // The shard first: a row in control means that the account exists.
    account::open(home, id, context.now)
        .await
        .map_err(|source| AdminFailure::NothingCreated {
            shard: shard.clone(),
            source,
        })?;
    let created = Organization {
        id,
        name,
        plan,
        berth,
        created_at: context.now,
    };
    organization::create(context.control, &created, &Actor::console()).await?;
    context
        .printer
        .render_one(&OrganizationView::new(created, shard))
}

async fn choose_berth(
    shard: Option<String>,
    context: AdminContext<'_>,
) -> Result<BerthLocation, AdminFailure> {
    if let Some(place) = berth::find_emptiest(context.control, shard.as_deref()).await? {
        return Ok(place);
    }
    let Some(name) = shard else {
        return Err(AdminFailure::NoBerths);
    };
    if berth::find_emptiest(context.control, None).await?.is_none() {
        return Err(AdminFailure::NoBerths);
    }
    let mut known = berth::read_map(context.control).await?;
    known.sort_unstable();
    known.dedup();
    Err(AdminFailure::NoSuchShard {
        name,
        known: known.join(", "),
    })
}

async fn list(context: AdminContext<'_>) -> Result<String, AdminFailure> {
    let map = berth::read_map(context.control).await?;
    let mut views: Vec<OrganizationView> = Vec::new();
    let mut after = None;
    loop {
        let page = organization::list(context.control, after, ROWS_PER_PAGE).await?;
        let Some(last) = page.last() else {
            return context.printer.render_many(&views);
        };
        after = Some(last.id);
        views.extend(page.into_iter().map(|found| {
            let shard = map.get(usize::from(found.berth.number())).cloned();
            OrganizationView::new(found, shard.unwrap_or_default())
        }));
    }
}

async fn set_quota(
    id: OrganizationId,
    quota: TokenQuota,
    context: AdminContext<'_>,
) -> Result<String, AdminFailure> {
    let (found, shard) = find_with_shard(id, context).await?;
    let own = match quota {
        TokenQuota::Plan => None,
        TokenQuota::Own(tokens) => Some(tokens),
    };
    let event = AuditEvent {
        organization: Some(id),
        action: "organization.quota_changed",
        subject: found.name.clone(),
        detail: own.map_or_else(
            || "quota of the plan".to_owned(),
            |tokens| format!("{tokens} tokens per month"),
        ),
        ..AuditEvent::default()
    };
    context.record(event).await?;
    let changed = account::set_monthly_tokens(shard, id, own).await;
    let changed = changed.map_err(|source| AdminFailure::ShardFailed {
        shard: shard.name.to_string(),
        source,
    })?;
    if !changed {
        return Err(AdminFailure::NoAccount {
            organization: id,
            shard: shard.name.to_string(),
        });
    }
    show(Some(found), id, context).await
}

/// An organization and the shard with its account.
pub(super) async fn find_with_shard(
    id: OrganizationId,
    context: AdminContext<'_>,
) -> Result<(Organization, &Shard), AdminFailure> {
    let found = organization::find(context.control, id).await?;
    let found = found.ok_or(AdminFailure::NoOrganization(id))?;
    let name = berth::find_shard(context.control, found.berth).await?;
    let name = name.ok_or(AdminFailure::NoBerths)?;
    match context.shards.iter().find(|known| *known.name == *name) {
        Some(shard) => Ok((found, shard)),
        None => Err(AdminFailure::HomeShardNotConfigured(name)),
    }
}

/// Works while the shard is unreachable, without credit and tokens.
async fn show(
    found: Option<Organization>,
    id: OrganizationId,
    context: AdminContext<'_>,
) -> Result<String, AdminFailure> {
    let found = found.ok_or(AdminFailure::NoOrganization(id))?;
    let shard = berth::find_shard(context.control, found.berth)
        .await?
        .unwrap_or_default();
    let account = match context.shards.iter().find(|known| *known.name == *shard) {
        Some(known) => account::find(known, id).await.ok().flatten(),
        None => None,
    };
    let plan_tokens = context.limits.for_plan(found.plan).monthly_tokens;
    let view = OrganizationView::new(found, shard);
    context.printer.render_one(&OrganizationDetails::new(
        view,
        account,
        plan_tokens,
        context.now,
    ))
}

#[derive(Debug, Serialize)]
pub(super) struct OrganizationView {
    organization_id: String,
    name: String,
    plan: &'static str,
    berth: u16,
    shard: String,
    created_at: String,
}

impl OrganizationView {
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

impl AdminView for OrganizationView {
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
