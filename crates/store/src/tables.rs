//! The registry of tables: what each one holds, how long, how it is erased, and how its rows find
//! their berth.
//!
//! A test compares it with `pg_catalog`: a table without an entry fails the build's tests.
//! A column that says `NotBuilt` names work that is still to be done.

/// One table of a schema. Partitions belong to their parent.
#[derive(Debug, Clone, Copy)]
pub struct TableEntry {
    pub schema: &'static str,
    pub name: &'static str,
    pub berth: BerthColumn,
    pub retention: Retention,
    /// Columns that hold words of a customer: what encryption and erasure are about.
    pub customer_text: &'static [&'static str],
    pub encryption: Encryption,
    pub erasure: Erasure,
    pub mover: Mover,
}

/// How a row tells which berth it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BerthColumn {
    /// A column with an id; each id carries its berth.
    Id(&'static str),
    /// A column with an array of such ids, all of which may differ in their berths.
    Ids(&'static str),
    /// A column with the number of the berth.
    Number(&'static str),
    /// Rows of several berths share it, or it belongs to the server.
    None,
}

/// When rows leave a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retention {
    /// Its partitions are dropped by day after `SVC_RETENTION_DAYS`.
    Days,
    /// Sweep deletes rows once the cargo that they belong to is dropped.
    Swept,
    /// Counts by the hour, which leave after `SVC_RETENTION_DAYS` and at least 35 days.
    Hours,
    /// Counts by the hour, summed to days as [`Retention::Hours`]. The days leave after
    /// `SVC_USAGE_RETENTION_DAYS`.
    Usage,
    /// Rows of money, which leave after `SVC_LEDGER_RETENTION_DAYS`.
    Ledger,
    /// Entries leave after `SVC_AUDIT_RETENTION_DAYS`.
    Audit,
    /// A row leaves when the work that it stands for is done.
    Queue,
    /// A row leaves when it has expired.
    Expiry,
    /// One row for each thing that exists; it leaves with that thing. The number of rows does not
    /// grow with history.
    Entity,
}

impl Retention {
    pub const ALL: [Self; 9] = [
        Self::Days,
        Self::Swept,
        Self::Hours,
        Self::Usage,
        Self::Ledger,
        Self::Audit,
        Self::Queue,
        Self::Expiry,
        Self::Entity,
    ];

    /// What it is called in the report of `longshored doctor`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Days => "cargo",
            Self::Swept => "with cargo",
            Self::Hours => "hours",
            Self::Usage => "usage",
            Self::Ledger => "ledger",
            Self::Audit => "audit log",
            Self::Queue => "queues",
            Self::Expiry => "expiring",
            Self::Entity => "lasting",
        }
    }
}

/// How customers' text is protected at rest, when encryption is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encryption {
    /// The table holds no text of a customer.
    NoCustomerText,
    /// All of it is encrypted with the data key of its project, except these columns.
    EncryptedExcept(&'static [&'static str]),
    /// Names, addresses, hosts, idempotency keys and notes: statements search or compare them, or
    /// they belong to no project. None of them is a content.
    Plain,
}

/// What erasing an organization, a project or a person does to the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Erasure {
    /// No row belongs to an organization, a project or a person.
    NothingToErase,
    /// Its rows are deleted.
    Deleted,
    /// Its rows stay, without customer text and names: other rows or sums need them.
    Emptied,
    /// Its rows stay: ids and numbers of the ledger and of usage, and notes of payments.
    Kept,
}

/// What moving a berth to another shard does with the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mover {
    /// The table belongs to control, or to the server: its rows stay.
    Stays,
    NotBuilt,
}

/// Tables that stay small, although rows come and go or are never deleted.
const SMALL_TABLES: &[&str] = &[
    "_migrations",
    "feed",
    "lane",
    "listener",
    "node",
    "throttle",
];
/// Tables of things of which there may be millions.
const LARGE_ENTITIES: &[&str] = &["object"];

impl TableEntry {
    /// Whether it may have millions of rows. A migration never reads or writes all of them in its
    /// transaction: that is an online step.
    pub fn is_large(&self) -> bool {
        let is_entity = self.retention == Retention::Entity;
        (!is_entity || LARGE_ENTITIES.contains(&self.name)) && !SMALL_TABLES.contains(&self.name)
    }

    const fn new(
        schema: &'static str,
        name: &'static str,
        berth: BerthColumn,
        retention: Retention,
    ) -> Self {
        let mover = match berth {
            BerthColumn::None => Mover::Stays,
            BerthColumn::Id(_) | BerthColumn::Ids(_) | BerthColumn::Number(_) => Mover::NotBuilt,
        };
        Self {
            schema,
            name,
            berth,
            retention,
            customer_text: &[],
            encryption: Encryption::NoCustomerText,
            erasure: Erasure::NothingToErase,
            mover,
        }
    }

    const fn control(name: &'static str, retention: Retention) -> Self {
        Self::new("control", name, BerthColumn::None, retention)
    }

    const fn shard(name: &'static str, berth: BerthColumn, retention: Retention) -> Self {
        Self::new("shard", name, berth, retention)
    }

    /// Its rows belong to an organization, a project or a person.
    const fn erased(self, erasure: Erasure) -> Self {
        Self { erasure, ..self }
    }

    /// Its rows hold text of a customer in these columns, so they must be erased.
    const fn with_text(self, columns: &'static [&'static str], erasure: Erasure) -> Self {
        Self {
            customer_text: columns,
            encryption: Encryption::Plain,
            erasure,
            ..self
        }
    }

    const fn encrypted(self) -> Self {
        self.encrypted_except(&[])
    }

    const fn encrypted_except(self, columns: &'static [&'static str]) -> Self {
        Self {
            encryption: Encryption::EncryptedExcept(columns),
            ..self
        }
    }
}

use BerthColumn::{Id, Ids, None, Number};
use Erasure::{Deleted, Emptied, Kept};
use Retention::{Audit, Days, Entity, Expiry, Hours, Ledger, Queue, Swept, Usage};

/// Every table of the schemas `control` and `shard`, in alphabetical order.
pub const TABLES: &[TableEntry] = &[
    TableEntry::control("_migrations", Entity),
    // Every request is compared with `addresses`.
    TableEntry::control("api_key", Entity)
        .with_text(&["name", "addresses", "last_used_address"], Deleted),
    // It belongs to the service and to organizations, which have no data key.
    TableEntry::control("audit", Audit).with_text(
        &["who", "address", "user_agent", "subject", "detail"],
        Emptied,
    ),
    TableEntry::control("audit_file", Entity),
    TableEntry::control("audit_token", Entity).with_text(&["name"], Deleted),
    TableEntry::control("berth", Entity),
    TableEntry::control("change", Expiry),
    TableEntry::control("factor_challenge", Expiry).erased(Deleted),
    TableEntry::control("identity", Entity).with_text(&["subject"], Deleted),
    TableEntry::control("installation", Entity),
    TableEntry::control("member", Entity).erased(Deleted),
    TableEntry::control("node", Expiry),
    TableEntry::control("online_step", Entity),
    TableEntry::control("organization", Entity).with_text(&["name"], Emptied),
    TableEntry::control("pass", Expiry).with_text(&["email"], Deleted),
    TableEntry::control("person", Entity).with_text(&["name", "email", "folded"], Deleted),
    TableEntry::control("project", Entity).with_text(&["slug"], Emptied),
    TableEntry::control("recovery_code", Entity).erased(Deleted),
    TableEntry::control("schema_floor", Entity),
    TableEntry::control("session", Expiry).with_text(&["address", "agent"], Deleted),
    TableEntry::control("throttle", Expiry),
    // With SVC_SIGNING_ROOT, a key of that root encrypts the secret.
    TableEntry::control("totp", Entity).erased(Deleted),
    TableEntry::shard("_migrations", None, Entity),
    TableEntry::shard("account", Id("organization"), Entity).erased(Kept),
    // The error is our own text.
    TableEntry::shard("attempt", Id("cargo"), Days)
        .with_text(&["error", "answer"], Emptied)
        .encrypted_except(&["error"]),
    TableEntry::shard("batch", None, Swept),
    TableEntry::shard("bucket_marker", None, Entity),
    TableEntry::shard("callback_delta", Ids("project"), Queue).with_text(&["host"], Emptied),
    TableEntry::shard("callback_hour", Id("project"), Hours).with_text(&["host"], Deleted),
    TableEntry::shard("callback_setting", Id("project"), Entity).erased(Deleted),
    TableEntry::shard("cargo", Id("id"), Days)
        .with_text(&["callback_url", "callback_host"], Emptied)
        .encrypted_except(&["callback_host"]),
    // Its name, as an idempotency key, is searched for.
    TableEntry::shard("cargo_group", Id("id"), Swept)
        .with_text(
            &[
                "name",
                "metadata",
                "callback_url",
                "callback_host",
                "callback_error",
            ],
            Deleted,
        )
        .encrypted_except(&["name", "callback_host", "callback_error"]),
    TableEntry::shard("closing", Id("organization"), Ledger).erased(Kept),
    // The keys are destroyed. Their rows stay, so that the project never gets a key again.
    TableEntry::shard("data_key", Id("project"), Entity).erased(Emptied),
    TableEntry::shard("delivery", Id("cargo"), Queue).with_text(&["host"], Deleted),
    TableEntry::shard("dropin_batch", Id("group_id"), Swept)
        .with_text(&["options", "failure", "idempotency_key"], Deleted)
        .encrypted_except(&["idempotency_key"]),
    TableEntry::shard("encryption", None, Entity),
    TableEntry::shard("erasure", Id("cargo"), Queue).erased(Deleted),
    TableEntry::shard("feed", Ids("cargo"), Expiry).erased(Kept),
    TableEntry::shard("file", Id("id"), Swept)
        .with_text(&["filename", "metadata"], Deleted)
        .encrypted(),
    TableEntry::shard("fold_floor", None, Entity),
    TableEntry::shard("frozen_day", None, Swept),
    // With encryption, a label is a code.
    TableEntry::shard("group_failure", Id("group_id"), Swept).with_text(&["label"], Deleted),
    TableEntry::shard("group_member", Id("group_id"), Swept).erased(Deleted),
    TableEntry::shard("group_result", Id("group_id"), Swept).erased(Deleted),
    // The error is our own text, or that of the program that listens.
    TableEntry::shard("handover", Id("id"), Expiry)
        .with_text(&["body", "error", "answer"], Deleted)
        .encrypted_except(&["error"]),
    TableEntry::shard("history_floor", None, Entity),
    TableEntry::shard("idempotency", Id("project"), Expiry).with_text(&["key"], Deleted),
    // Ids and amounts.
    TableEntry::shard("key_spending", Id("organization"), Ledger).erased(Kept),
    // Who paused it is in `paused_by`, and who paused an account in its reason.
    TableEntry::shard("lane", None, Entity).erased(Emptied),
    TableEntry::shard("ledger_fault", Id("organization"), Queue).erased(Kept),
    TableEntry::shard("ledger_gap", Id("organization"), Queue).erased(Kept),
    TableEntry::shard("ledger_pass", None, Queue),
    TableEntry::shard("ledger_settled", Id("organization"), Queue).erased(Kept),
    TableEntry::shard("ledger_sum", Id("organization"), Queue).erased(Kept),
    TableEntry::shard("listener", Id("project"), Expiry).with_text(&["name"], Deleted),
    TableEntry::shard("node", None, Expiry),
    TableEntry::shard("object", Id("id"), Entity).erased(Deleted),
    TableEntry::shard("online_step", None, Entity),
    TableEntry::shard("opening", Id("organization"), Entity).erased(Kept),
    TableEntry::shard("outcome", Id("cargo"), Days)
        .with_text(&["body"], Emptied)
        .encrypted(),
    TableEntry::shard("parcel", Id("id"), Expiry)
        .with_text(&["filename"], Deleted)
        .encrypted(),
    TableEntry::shard("parcel_block", Id("parcel"), Expiry)
        .with_text(&["body"], Deleted)
        .encrypted(),
    TableEntry::shard("patrol", Number("berth"), Entity),
    TableEntry::shard("posting", Id("organization"), Ledger)
        .with_text(&["reference", "note"], Kept),
    TableEntry::shard("provider", None, Entity).erased(Emptied),
    TableEntry::shard("provider_file", None, Queue),
    TableEntry::shard("recovery", None, Entity),
    TableEntry::shard("request", Id("cargo"), Days)
        .with_text(&["body", "metadata", "warnings", "custom_id"], Emptied)
        .encrypted(),
    TableEntry::shard("resend", Id("id"), Swept).with_text(&["host"], Deleted),
    TableEntry::shard("retention", Id("project"), Entity).erased(Deleted),
    TableEntry::shard("schema_floor", None, Entity),
    TableEntry::shard("share", Id("project"), Swept).erased(Kept),
    TableEntry::shard("storage", Id("organization"), Entity).erased(Kept),
    // With encryption, a label is a code or a host.
    TableEntry::shard("trouble", Id("cargo"), Days).with_text(&["label"], Emptied),
    TableEntry::shard("unaudited", Ids("cargo"), Queue).erased(Kept),
    TableEntry::shard("usage", Id("project"), Usage).erased(Kept),
    TableEntry::shard("usage_delta", Ids("project"), Queue).erased(Kept),
    TableEntry::shard("waiting", Id("cargo"), Queue).erased(Deleted),
];
