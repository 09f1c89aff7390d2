//! Why a command was not carried out, and what to do about it.

use domain::id::{KeyId, OrganizationId, ProjectId};
use domain::money::Money;
use domain::project::Slug;
use store::migrate::SchemaState;

use crate::licence::LicenceFailure;
use crate::providers::ProvidersFailure;

#[derive(Debug, thiserror::Error)]
pub enum AdminFailure {
    #[error("control failed; check its address in the settings, `longshored doctor` says more")]
    Store(#[from] store::Error),
    #[error("{}", schema_advice(*.0))]
    Schema(SchemaState),
    #[error("no berth is assigned to a shard yet: run `longshored migrate`")]
    NoBerths,
    #[error("no berth lies on shard {asked}; berths lie on {known}")]
    NoSuchShard { asked: String, known: String },
    #[error(
        "the berth lies on shard {0}, which this program was given no address for: \
         name it in SVC_SHARD_DATABASE_URLS, or choose another with --shard"
    )]
    ShardNotConfigured(String),
    #[error(
        "shard {shard} failed and nothing was made; `longshored doctor` says more, \
         --shard chooses another"
    )]
    Shard { shard: String, source: store::Error },
    #[error(
        "it lies on shard {0}, which this program was given no address for: \
         name it in SVC_SHARD_DATABASE_URLS"
    )]
    ShardUnknown(String),
    #[error("shard {shard} failed and nothing was changed; `longshored doctor` says more")]
    Unanswered { shard: String, source: store::Error },
    #[error(
        "shard {shard} has no account of {organization}: SVC_SHARD_DATABASE_URLS may name \
         another database than the one it was made in; `longshored doctor` says more"
    )]
    NoAccount {
        organization: OrganizationId,
        shard: String,
    },
    #[error(
        "shard {shard} failed, and it is not known whether the amount was posted: \
         `longshored admin ledger statement {organization}` shows it; \
         with a --reference the command can be repeated, it posts once"
    )]
    Unpaid {
        organization: OrganizationId,
        shard: String,
        source: store::Error,
    },
    #[error(
        "the reference {reference} belongs to posting {number}, which is of another amount or kind, \
         and nothing was posted: `longshored admin ledger statement {organization}` shows it; \
         choose another reference"
    )]
    ReferenceUsed {
        organization: OrganizationId,
        reference: String,
        number: u64,
    },
    #[error(
        "only {available} dollars can be withdrawn, and nothing was posted: \
         what is held for cargo under way is free again when it has ended"
    )]
    TooLittle { available: Money },
    #[error("more than an account can hold, which is about nine billion dollars")]
    TooMuch,
    #[error(
        "the ledger is not in order, faults: {0}; nothing was changed. Keep what was printed, and \
         see \"When a fault is found\" in docs/credit-and-ledger.md"
    )]
    LedgerFaults(usize),
    #[error(
        "counts of files are not right, faults: {0}; nothing was changed. Keep what was printed, \
         and report it"
    )]
    FileFaults(usize),
    #[error("shard {0} could not be examined: `longshored doctor` says more")]
    Unproved(String),
    #[error("the statement could not be written to its end")]
    Unwritten(#[source] std::io::Error),
    #[error("there is no organization {0}: `longshored admin organization list` shows them")]
    NoOrganization(OrganizationId),
    #[error(
        "there is no project {0}: `longshored admin project list --organization ID` shows them"
    )]
    NoProject(ProjectId),
    #[error("there is no key {0}: `longshored admin key list --project ID` shows them")]
    NoKey(KeyId),
    #[error("the slug {0} belongs to another project: choose another")]
    SlugTaken(Slug),
    #[error("nobody has the address {0}: `longshored admin person list` shows everybody")]
    NoPerson(String),
    #[error(
        "somebody has the address {0}: `longshored admin person link {0}` makes a link to set \
         their password"
    )]
    EmailTaken(String),
    #[error("there is no provider {asked} in SVC_PROVIDERS_FILE{hint}")]
    NoProvider { asked: String, hint: String },
    #[error(
        "shard {shard} failed, and the account is still paused there: `longshored doctor` says \
         more; the command can be repeated"
    )]
    Unresumed { shard: String, source: store::Error },
    #[error(transparent)]
    Providers(#[from] ProvidersFailure),
    #[error("there is no licence to verify: name a file, or set SVC_LICENCE_FILE")]
    NoLicence,
    #[error(transparent)]
    Licence(#[from] LicenceFailure),
    #[error("the operating system gave no random numbers")]
    NoRandomness,
    #[error("it was done, but what came of it could not be printed")]
    Output(#[source] std::io::Error),
    #[error("it was done, but what came of it could not be written as JSON")]
    Json(#[from] serde_json::Error),
}

const fn schema_advice(state: SchemaState) -> &'static str {
    match state {
        SchemaState::Missing => "control has no tables yet: run `longshored migrate`",
        SchemaState::Behind => {
            "control's tables are older than this program: run `longshored migrate`"
        }
        SchemaState::TooNew => {
            "control's tables are newer than this program: use a newer longshored"
        }
        SchemaState::Current | SchemaState::AheadByOne => "control's tables are as they should be",
    }
}
