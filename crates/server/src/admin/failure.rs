//! Why a command failed, and what to do about it.

use domain::callback_settings::CallbackSettingsRefusal;
use domain::id::{ApiKeyId, AuditTokenId, OrganizationId, ProjectId};
use domain::master_key::MasterKeyFailure;
use domain::money::Money;
use domain::project::Slug;
use domain::retention::RetentionTooLong;
use outbound::object_store::{ObjectStoreFailure, ObjectStoreSetupFailure};
use outbound::provider::client::ProviderSetupFailure;
use outbound::rate_limits::RateLimiterFailure;
use store::migrate::SchemaState;

use crate::licence::LicenceFailure;
use crate::master_key::MasterKeySetupFailure;
use crate::providers::ProvidersFailure;
use crate::redis_client::RedisSetupFailure;

#[derive(Debug, thiserror::Error)]
pub enum AdminFailure {
    #[error(
        "the control database failed; check its address in the settings, \
         `longshored doctor` says more"
    )]
    Store(#[from] store::Error),
    #[error("{}", schema_advice(*.0))]
    Schema(SchemaState),
    #[error(
        "people exist already; `longshored admin person create --operator` adds an operator, \
         `person link` makes a password reset link"
    )]
    AlreadySetUp,
    #[error("no berths are assigned to shards yet: run `longshored migrate`")]
    NoBerths,
    #[error("shard {name} is unknown or has no berths; choose one of {known}")]
    NoSuchShard { name: String, known: String },
    #[error(
        "the berth is on shard {0}, which has no address in the settings: \
         add it to SVC_SHARD_DATABASE_URLS, or choose another shard with --shard"
    )]
    ShardNotConfigured(String),
    #[error(
        "shard {shard} failed and nothing was created; `longshored doctor` says more, \
         --shard chooses another shard"
    )]
    NothingCreated { shard: String, source: store::Error },
    #[error(
        "the organization is on shard {0}, which has no address in the settings: \
         add it to SVC_SHARD_DATABASE_URLS"
    )]
    HomeShardNotConfigured(String),
    #[error("shard {shard} failed and nothing was changed; `longshored doctor` says more")]
    ShardFailed { shard: String, source: store::Error },
    #[error(
        "shard {shard} has no account of {organization}: SVC_SHARD_DATABASE_URLS may point to \
         another database than the one it was created in; `longshored doctor` says more"
    )]
    NoAccount {
        organization: OrganizationId,
        shard: String,
    },
    #[error(
        "shard {shard} failed, and it is unknown whether the amount was posted: \
         `longshored admin ledger statement {organization}` shows it; \
         with a --reference it is safe to repeat the command"
    )]
    PaymentUnconfirmed {
        organization: OrganizationId,
        shard: String,
        source: store::Error,
    },
    #[error(
        "nothing was posted: the reference {reference} belongs to posting {number}, which has \
         another amount or kind (`longshored admin ledger statement {organization}` shows it); \
         choose another reference"
    )]
    ReferenceUsed {
        organization: OrganizationId,
        reference: String,
        number: u64,
    },
    #[error(
        "nothing was posted: only {available} dollars can be withdrawn; \
         credit that is held for open cargo becomes available when the cargo ends"
    )]
    InsufficientCredit { available: Money },
    #[error("nothing was posted: an account can hold at most about nine billion dollars")]
    BalanceOverflow,
    #[error(
        "the ledger is inconsistent, faults: {0}; nothing was changed. Keep this output, and \
         see \"When a fault is found\" in docs/credit-and-ledger.md"
    )]
    LedgerFaults(usize),
    #[error(
        "the files are inconsistent, faults: {0}; nothing was changed. Keep this output and report \
         the problem"
    )]
    FileFaults(usize),
    #[error("shard {0} could not be checked: `longshored doctor` says more")]
    ShardNotChecked(String),
    #[error("the statement could not be written completely")]
    StatementNotWritten(#[source] std::io::Error),
    #[error("there is no organization {0}: `longshored admin organization list` shows them")]
    NoOrganization(OrganizationId),
    #[error(
        "there is no project {0}: `longshored admin project list --organization ID` shows them"
    )]
    NoProject(ProjectId),
    #[error("there is no key {0}: `longshored admin key list --project ID` shows them")]
    NoKey(ApiKeyId),
    #[error("there is no audit token {0}: `longshored admin audit list-tokens` shows them")]
    NoAuditToken(AuditTokenId),
    #[error(
        "SVC_SIGNING_ROOT is not set: set it to 32 bytes in base64, the same for serve, work and \
         admin; `openssl rand -base64 32` prints such a value"
    )]
    NoSigningRoot,
    #[error(
        "neither SVC_MASTER_KEY_FILE nor SVC_MASTER_KEY_COMMAND is set: set one of them, the same \
         for serve, work and admin; see docs/encryption.md"
    )]
    NoMasterKey,
    #[error(transparent)]
    MasterKeySetup(#[from] MasterKeySetupFailure),
    #[error("nothing was changed, because the master key does not work: {0}")]
    MasterKey(#[from] MasterKeyFailure),
    #[error(
        "shard {shard} failed, and the shards after it were not changed: `longshored doctor` says \
         more; it is safe to repeat the command"
    )]
    ShardIncomplete { shard: String, source: store::Error },
    #[error("the keys of project {0} were destroyed: it cannot get a new one")]
    ProjectErased(ProjectId),
    #[error("nothing was changed: {0}")]
    CallbackSettingsRefused(#[from] CallbackSettingsRefusal),
    #[error("nothing was changed: {0}")]
    RetentionTooLong(#[from] RetentionTooLong),
    #[error(
        "a database failed, and only a part was erased: `longshored doctor` says more; it is safe \
         to repeat the command"
    )]
    ErasureInterrupted(#[source] store::Error),
    #[error(
        "not everything is erased yet: {open_cargo} cargo in flight, {files} files, {objects} \
         objects. Cargo ends within about 26 hours, and workers remove objects within seconds. \
         Repeat the command then"
    )]
    ErasureIncomplete {
        open_cargo: u64,
        files: u64,
        objects: u64,
    },
    #[error(
        "the rows are erased, but counters in Redis are not: they hold ids only, and expire within \
         an hour"
    )]
    CountersNotDeleted(#[source] RateLimiterFailure),
    #[error(transparent)]
    Redis(#[from] RedisSetupFailure),
    #[error("the slug {0} is taken: choose another")]
    SlugTaken(Slug),
    #[error(
        "there is no person with the e-mail address {0}: \
         `longshored admin person list` shows them"
    )]
    NoPerson(String),
    #[error(
        "a person with the e-mail address {0} exists: `longshored admin person link {0}` creates a \
         link to set a new password"
    )]
    EmailTaken(String),
    #[error("there is no provider {name} in SVC_PROVIDERS_FILE{hint}")]
    NoProvider { name: String, hint: String },
    #[error(
        "shard {shard} failed, and the account is still paused there: `longshored doctor` says \
         more; it is safe to repeat the command"
    )]
    ResumeFailed { shard: String, source: store::Error },
    #[error(transparent)]
    Providers(#[from] ProvidersFailure),
    #[error(
        "nothing was changed: the jobs of account {account} cannot be listed: {why}. Repeat the \
         command when the provider answers, or leave the account out with --skip {account}"
    )]
    JobsNotListed { account: String, why: String },
    #[error(
        "the shard is still paused, because job {job} of account {account} could not be \
         cancelled: {why}. It is safe to repeat the command"
    )]
    JobNotCancelled {
        account: String,
        job: String,
        why: String,
    },
    #[error(
        "nothing was changed: another database of shard {0} is writing to the bucket, so its \
         installation is alive. Stop it, or give this copy another bucket or SVC_OBJECTS_PREFIX \
         and other provider accounts; see docs/runbooks/recovery-pause.md"
    )]
    OtherDatabaseIsAlive(String),
    #[error(
        "nothing was changed: shard {0} is paused. Run `longshored admin recovery accept` first; \
         see docs/runbooks/recovery-pause.md"
    )]
    ShardPaused(String),
    #[error("the object store failed; `longshored doctor` says more")]
    ObjectStore(#[from] ObjectStoreFailure),
    #[error(transparent)]
    ObjectStoreSetup(#[from] ObjectStoreSetupFailure),
    #[error(
        "nothing was erased, because the erasure could not be logged in the bucket: {0}. A \
         database restored from a backup would not be erased again"
    )]
    ErasureNotLogged(#[source] ObjectStoreFailure),
    #[error(transparent)]
    ProviderSetup(#[from] ProviderSetupFailure),
    #[error("there is no licence to verify: give a file, or set SVC_LICENCE_FILE")]
    NoLicence,
    #[error(transparent)]
    Licence(#[from] LicenceFailure),
    #[error("the operating system provided no random numbers")]
    NoRandomness,
    #[error("the command succeeded, but its result could not be printed")]
    Output(#[source] std::io::Error),
    #[error("the command succeeded, but its result could not be written as JSON")]
    Json(#[from] serde_json::Error),
}

const fn schema_advice(state: SchemaState) -> &'static str {
    match state {
        SchemaState::Missing => "the control database has no schema yet: run `longshored migrate`",
        SchemaState::Behind => {
            "the schema of control is older than this program: run `longshored migrate`"
        }
        SchemaState::TooNew => {
            "the schema of control is newer than this program: use a newer longshored"
        }
        SchemaState::Current | SchemaState::AheadSupported => "the schema of control is up to date",
    }
}
