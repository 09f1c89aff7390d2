//! Rows of control: organizations, projects and API keys.

use domain::api_key::ApiKey;
use domain::audit_token::AuditToken;
use domain::id::{ApiKeyId, AuditTokenId, Berth, OrganizationId, ProjectId};
use domain::key_scope::KeyScope;
use domain::key_spending::SpendingCap;
use domain::money::Money;
use domain::organization::Plan;
use domain::time::Timestamp;
use store::Control;
use store::control::audit_log::Actor;
use store::control::audit_token::{self, AuditTokenRow};
use store::control::{api_key, organization, project};

use crate::support::{Customer, TestService};

pub(super) async fn organization(
    control: &Control,
    id: OrganizationId,
    plan: Plan,
    berth: Berth,
    now: Timestamp,
) {
    let name = "Test".to_owned();
    let row = organization::Organization {
        id,
        name,
        plan,
        berth,
        created_at: now,
    };
    organization::create(control, &row, &Actor::console())
        .await
        .unwrap();
}

pub(super) async fn key(
    control: &Control,
    organization: OrganizationId,
    berth: Berth,
    now: Timestamp,
) -> (ProjectId, ApiKeyId, String) {
    let slug = format!("p-{:x}", rand::random::<u64>()).parse().unwrap();
    let id = ProjectId::new(now, berth, rand::random());
    let row = project::Project {
        id,
        organization,
        slug,
        is_active: true,
        created_at: now,
        is_erased: false,
    };
    project::create(control, &row, &Actor::console())
        .await
        .unwrap();
    let (key_id, key) = key_of_project(control, id, KeyScope::default(), now).await;
    (id, key_id, key)
}

async fn key_of_project(
    control: &Control,
    project: ProjectId,
    scope: KeyScope,
    now: Timestamp,
) -> (ApiKeyId, String) {
    let key = ApiKey::generate(std::iter::repeat_with(rand::random::<u8>)).unwrap();
    let row = api_key::ApiKeyRow {
        id: ApiKeyId::new(now, project.berth(), rand::random()),
        project,
        name: "test".to_owned(),
        prefix: key.display_prefix().to_owned(),
        is_active: true,
        expires_at: None,
        last_used_at: None,
        last_used_address: None,
        created_at: now,
        successor: None,
        scope,
    };
    api_key::create(control, &row, key.digest(), &Actor::console())
        .await
        .unwrap();
    (row.id, key.reveal().to_owned())
}

impl TestService {
    /// Creates another API key of the customer's project.
    pub(crate) async fn create_key(&self, customer: &Customer, scope: KeyScope) -> Customer {
        let (project, now) = (customer.project, self.now());
        let (key_id, key) = key_of_project(&self.control, project, scope, now).await;
        self.app.refresh_keys().await;
        Customer {
            key_id,
            key,
            ..customer.clone()
        }
    }

    /// Creates a key whose cap counts under the id of the customer's first key.
    pub(crate) async fn create_capped_key(&self, customer: &Customer, cap: Money) -> Customer {
        let spending_cap = Some(SpendingCap {
            key: customer.key_id,
            monthly: cap,
        });
        let scope = KeyScope {
            spending_cap,
            ..KeyScope::default()
        };
        self.create_key(customer, scope).await
    }

    /// A token for the audit log of this organization, or of the whole service.
    pub(crate) async fn create_audit_token(&self, organization: Option<OrganizationId>) -> String {
        let random = rand::random::<[u8; 32]>().into_iter().cycle().take(1000);
        let (token, now) = (AuditToken::generate(random).unwrap(), self.now());
        let berth = organization.map_or(Berth::new(0).unwrap(), OrganizationId::berth);
        let row = AuditTokenRow {
            id: AuditTokenId::new(now, berth, rand::random()),
            organization,
            name: "SIEM".to_owned(),
            prefix: token.display_prefix().to_owned(),
            last_used_at: None,
            created_at: now,
        };
        audit_token::create(&self.control, &row, token.digest(), &Actor::console())
            .await
            .unwrap();
        token.reveal().to_owned()
    }
}
