//! `longshored admin audit …`: tokens that read the audit log over HTTP.

use clap::Subcommand;
use domain::id::{AuditTokenId, Berth, OrganizationId};
use domain::time::to_wire;
use serde::Serialize;
use store::control::audit_log::Actor;
use store::control::audit_token::{self, AuditTokenRow};
use store::control::organization;

use crate::admin::AdminContext;
use crate::admin::AdminFailure;
use crate::admin::argument;
use crate::admin::printer::{AdminView, or_dash};
use crate::admin::random;

#[derive(Debug, Subcommand)]
pub(super) enum AuditCommand {
    /// Create a token for GET /audit and show it; it cannot be shown again.
    CreateToken {
        /// What the token is for.
        #[arg(long, value_parser = argument::name)]
        name: String,
        /// Read only the log of this organization; the log of the whole service, if not given.
        #[arg(long, value_parser = argument::id::<domain::id::OrganizationKind>)]
        organization: Option<OrganizationId>,
    },
    /// List all tokens with their first characters, oldest first.
    ListTokens,
    /// Delete a token; it stops working at once.
    RevokeToken {
        #[arg(value_parser = argument::id::<domain::id::AuditTokenKind>)]
        id: AuditTokenId,
    },
}

pub(super) async fn run(
    command: AuditCommand,
    context: AdminContext<'_>,
) -> Result<String, AdminFailure> {
    match command {
        AuditCommand::CreateToken { name, organization } => {
            create_token(name, organization, context).await
        }
        AuditCommand::ListTokens => {
            let tokens = audit_token::list(context.control, None).await?;
            let views: Vec<_> = tokens.into_iter().map(AuditTokenView::from).collect();
            context.printer.render_many(&views)
        }
        AuditCommand::RevokeToken { id } => {
            let by = Actor::console();
            let revoked = audit_token::revoke(context.control, None, id, &by, context.now).await?;
            let revoked = revoked.ok_or(AdminFailure::NoAuditToken(id))?;
            context.printer.render_one(&AuditTokenView::from(revoked))
        }
    }
}

async fn create_token(
    name: String,
    organization: Option<OrganizationId>,
    context: AdminContext<'_>,
) -> Result<String, AdminFailure> {
    if let Some(id) = organization {
        let found = organization::find(context.control, id).await?;
        found.ok_or(AdminFailure::NoOrganization(id))?;
    }
    // A token of the whole service belongs to no berth.
    let berth = organization.map_or_else(|| Berth::new(0), |id| Some(id.berth()));
    let berth = berth.ok_or(AdminFailure::NoBerths)?;
    let generated = random::audit_token()?;
    let created = AuditTokenRow {
        id: AuditTokenId::new(context.now, berth, random::entropy()?),
        organization,
        name,
        prefix: generated.display_prefix().to_owned(),
        last_used_at: None,
        created_at: context.now,
    };
    let digest = generated.digest();
    audit_token::create(context.control, &created, digest, &Actor::console()).await?;
    context.printer.render_one(&AuditTokenView {
        token: Some(generated.reveal().to_owned()),
        ..AuditTokenView::from(created)
    })
}

/// No `Debug`: after creation it holds the whole token.
#[derive(Serialize)]
struct AuditTokenView {
    token_id: String,
    /// None for the log of the whole service.
    organization_id: Option<String>,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    token_prefix: String,
    last_used_at: Option<String>,
    created_at: String,
}

impl From<AuditTokenRow> for AuditTokenView {
    fn from(token: AuditTokenRow) -> Self {
        Self {
            token_id: token.id.to_string(),
            organization_id: token.organization.map(|id| id.to_string()),
            name: token.name,
            token: None,
            token_prefix: token.prefix,
            last_used_at: token.last_used_at.map(to_wire),
            created_at: to_wire(token.created_at),
        }
    }
}

impl AdminView for AuditTokenView {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let scope = self.organization_id.as_deref().unwrap_or("whole service");
        let mut fields = vec![
            ("token id", self.token_id.clone()),
            ("reads", scope.to_owned()),
            ("name", self.name.clone()),
            ("prefix", self.token_prefix.clone()),
            ("last used", or_dash(self.last_used_at.as_ref())),
            ("created", self.created_at.clone()),
        ];
        if let Some(token) = &self.token {
            fields.push(("token", token.clone()));
        }
        fields
    }

    fn note(&self) -> Option<&'static str> {
        let note = "Store the token now: it cannot be shown again. Send it as X-API-Key to \
                    GET /audit.";
        self.token.as_ref().map(|_| note)
    }
}
