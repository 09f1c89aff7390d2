//! `GET /whoami`: the key of the request, its project and organization, and what they may use.

use serde::Serialize;
use utoipa::ToSchema;

use crate::timestamp::WireTimestamp;

/// The identity of the request. Every field is always present.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = WhoAmI)]
pub struct WhoAmIResponse {
    pub key: KeyIdentityBody,
    pub project: ProjectIdentityBody,
    pub organization: OrganizationIdentityBody,
    pub limits: CallerLimitsBody,
    pub tokens: MonthlyTokensBody,
    pub balance: BalanceBody,
}

/// The API key, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = KeyIdentity)]
pub struct KeyIdentityBody {
    #[schema(example = "key_019b76da807b774b805000000000002a")]
    pub id: String,
    #[schema(example = "production server")]
    pub name: String,
    /// The first 12 characters.
    #[schema(example = "svc_sk_ABCDE")]
    pub prefix: String,
    pub created_at: WireTimestamp,
    /// Null if it does not expire.
    #[schema(required = true)]
    pub expires_at: Option<WireTimestamp>,
    /// `load`, `read`, `files`.
    #[schema(value_type = Vec<String>, example = json!(["load", "read", "files"]))]
    pub rights: Vec<&'static str>,
    /// The models that it may load; null means all.
    #[schema(required = true)]
    pub models: Option<Vec<String>>,
    /// The addresses from which it may be used; null means all.
    #[schema(required = true)]
    pub addresses: Option<Vec<String>>,
    /// Null if it has none.
    #[schema(required = true)]
    pub spending_cap: Option<SpendingCapBody>,
}

/// The monthly spending cap of the key, in whole numbers of 10^-`scale` of the currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = SpendingCap)]
pub struct SpendingCapBody {
    #[schema(example = 2_000_000_000)]
    pub monthly: u64,
    /// Charged for cargo that was loaded in this month.
    #[schema(example = 1_250_000)]
    pub spent: u64,
    /// Set aside for its cargo in flight.
    #[schema(example = 0)]
    pub held: u64,
    pub resets_at: WireTimestamp,
    #[schema(value_type = String, example = "USD")]
    pub currency: &'static str,
    #[schema(example = 9)]
    pub scale: u8,
}

/// The project of the key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = ProjectIdentity)]
pub struct ProjectIdentityBody {
    #[schema(example = "prj_019b76da807b774b805000000000002a")]
    pub id: String,
    #[schema(example = "orders")]
    pub slug: String,
}

/// The organization of the project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = OrganizationIdentity)]
pub struct OrganizationIdentityBody {
    #[schema(example = "org_019b76da807b774b805000000000002a")]
    pub id: String,
    #[schema(example = "Example Ltd")]
    pub name: String,
    /// `free`, `starter`, `pro` or `enterprise`.
    #[schema(value_type = String, example = "pro")]
    pub plan: &'static str,
}

/// The token bucket of the organization's loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = CallerLimits)]
pub struct CallerLimitsBody {
    #[schema(example = 5_000)]
    pub burst: u32,
    #[schema(example = 600)]
    pub sustained_requests_per_minute: u32,
}

/// The organization's tokens of this calendar month (UTC).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = MonthlyTokens)]
pub struct MonthlyTokensBody {
    /// Null means no limit.
    #[schema(required = true, example = 1_000_000_000)]
    pub monthly: Option<u64>,
    #[schema(example = 4_200)]
    pub used: u64,
    /// For cargo in flight.
    #[schema(example = 0)]
    pub reserved: u64,
    pub resets_at: WireTimestamp,
}

/// The organization's credit, in whole numbers of 10^-`scale` of the currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Balance)]
pub struct BalanceBody {
    /// What new loads may use.
    #[schema(example = 1_998_750_000)]
    pub available: u64,
    /// Set aside for cargo in flight.
    #[schema(example = 0)]
    pub held: u64,
    #[schema(value_type = String, example = "USD")]
    pub currency: &'static str,
    #[schema(example = 9)]
    pub scale: u8,
}
