//! One entry of the audit log: a line of `GET /audit`, and of the audit file.

use serde::Serialize;
use utoipa::ToSchema;

use crate::timestamp::WireTimestamp;

/// One entry of the audit log. Every field is always present. No field holds a prompt, an answer
/// or a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = AuditEntry)]
pub struct AuditRecord {
    /// Rises from entry to entry, with gaps. The `after` of the next request.
    #[schema(example = 4711)]
    pub id: i64,
    pub time: WireTimestamp,
    /// What was done, for programs: a thing and a verb.
    #[schema(example = "key.created")]
    pub action: String,
    pub outcome: AuditOutcome,
    /// Who did it: an e-mail address, `console` for the command line, or `not signed in`.
    #[schema(example = "ada@example.com")]
    pub actor: String,
    /// Null for the command line and for people who are not signed in.
    #[schema(required = true, example = "usr_019b76da807b774b805000000000002a")]
    pub actor_id: Option<String>,
    /// What it was done to.
    #[schema(example = "production server (svc_sk_ABCDE…)")]
    pub target: String,
    /// More about it, for people; often empty.
    #[schema(example = "")]
    pub detail: String,
    /// Null if the entry belongs to no organization, such as a sign-in.
    #[schema(required = true, example = "org_019b76da807b774b805000000000002a")]
    pub organization_id: Option<String>,
    #[schema(required = true, example = "prj_019b76da807b774b805000000000002a")]
    pub project_id: Option<String>,
    /// The IP address of the client; null for the command line.
    #[schema(required = true, example = "203.0.113.9")]
    pub address: Option<String>,
    /// The browser, as it named itself; null for the command line.
    #[schema(required = true, example = "Mozilla/5.0")]
    pub user_agent: Option<String>,
}

/// Whether it was done, or refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = AuditOutcome)]
pub enum AuditOutcome {
    Success,
    /// The action ends in `.refused`.
    Failure,
}
