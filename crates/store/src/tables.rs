//! The registry of tables: what each one holds, how long, and how its rows find their berth.
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
    /// Sweep deletes rows that are past the same retention.
    Swept,
    /// A row leaves when the work that it stands for is done.
    Queue,
    /// A row leaves when it has expired.
    Expiry,
    /// One row for each thing that exists; it leaves with that thing.
    Entity,
    /// Rows are never deleted: no retention is built.
    Forever,
}

/// How customers' text is protected at rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encryption {
    /// The table holds no text of a customer.
    NoCustomerText,
    NotBuilt,
}

/// What erasing an organization, a project or a person does to the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Erasure {
    /// No row belongs to an organization, a project or a person.
    NothingToErase,
    NotBuilt,
}

/// What moving a berth to another shard does with the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mover {
    /// The table belongs to control, or to the server: its rows stay.
    Stays,
    NotBuilt,
}

impl TableEntry {
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
    const fn erasable(self) -> Self {
        Self {
            erasure: Erasure::NotBuilt,
            ..self
        }
    }

    /// Its rows hold text of a customer in these columns, so they must be erasable.
    const fn with_text(self, columns: &'static [&'static str]) -> Self {
        Self {
            customer_text: columns,
            encryption: Encryption::NotBuilt,
            erasure: Erasure::NotBuilt,
            ..self
        }
    }
}

use BerthColumn::{Id, Ids, None, Number};
use Retention::{Days, Entity, Expiry, Forever, Queue, Swept};

/// Every table of the schemas `control` and `shard`, in alphabetical order.
pub const TABLES: &[TableEntry] = &[
    TableEntry::control("_migrations", Forever),
    TableEntry::control("api_key", Entity).with_text(&["addresses", "last_used_address"]),
    TableEntry::control("audit", Forever).with_text(&[
        "who",
        "address",
        "user_agent",
        "subject",
        "detail",
    ]),
    TableEntry::control("audit_file", Entity),
    TableEntry::control("audit_token", Entity).erasable(),
    TableEntry::control("berth", Entity),
    TableEntry::control("change", Forever),
    TableEntry::control("factor_challenge", Expiry).erasable(),
    TableEntry::control("identity", Entity).with_text(&["subject"]),
    TableEntry::control("installation", Entity),
    TableEntry::control("member", Entity).erasable(),
    TableEntry::control("node", Expiry),
    TableEntry::control("organization", Entity).with_text(&["name"]),
    TableEntry::control("pass", Expiry).with_text(&["email"]),
    TableEntry::control("person", Entity).with_text(&["name", "email", "folded"]),
    TableEntry::control("project", Entity).with_text(&["slug"]),
    TableEntry::control("recovery_code", Entity).erasable(),
    TableEntry::control("session", Expiry).with_text(&["address", "agent"]),
    TableEntry::control("throttle", Expiry),
    TableEntry::control("totp", Entity).erasable(),
    TableEntry::shard("_migrations", None, Forever),
    TableEntry::shard("account", Id("organization"), Entity).erasable(),
    TableEntry::shard("attempt", Id("cargo"), Days).with_text(&["error", "answer"]),
    TableEntry::shard("batch", None, Forever),
    TableEntry::shard("bucket_marker", None, Entity),
    TableEntry::shard("callback_delta", Ids("project"), Queue).with_text(&["host"]),
    TableEntry::shard("callback_hour", Id("project"), Forever).with_text(&["host"]),
    TableEntry::shard("callback_setting", Id("project"), Entity).erasable(),
    TableEntry::shard("cargo", Id("id"), Days).with_text(&["callback_url", "callback_host"]),
    TableEntry::shard("closing", Id("organization"), Forever).erasable(),
    TableEntry::shard("delivery", Id("cargo"), Queue).with_text(&["host"]),
    TableEntry::shard("file", Id("id"), Forever).with_text(&["filename", "metadata"]),
    TableEntry::shard("fold_floor", None, Entity),
    TableEntry::shard("idempotency", Id("project"), Expiry).with_text(&["key"]),
    TableEntry::shard("key_spending", Id("organization"), Forever).erasable(),
    TableEntry::shard("lane", None, Forever),
    TableEntry::shard("node", None, Expiry),
    TableEntry::shard("object", Id("id"), Entity).erasable(),
    TableEntry::shard("outcome", Id("cargo"), Days).with_text(&["body"]),
    TableEntry::shard("patrol", Number("berth"), Entity),
    TableEntry::shard("posting", Id("organization"), Forever).with_text(&["reference", "note"]),
    TableEntry::shard("provider", None, Entity),
    TableEntry::shard("request", Id("cargo"), Days).with_text(&["body", "metadata"]),
    TableEntry::shard("resend", Id("id"), Forever).with_text(&["host"]),
    TableEntry::shard("share", Id("project"), Swept).erasable(),
    TableEntry::shard("storage", Id("organization"), Entity).erasable(),
    TableEntry::shard("trouble", Id("cargo"), Days).with_text(&["label"]),
    TableEntry::shard("usage", Id("project"), Forever).erasable(),
    TableEntry::shard("usage_delta", Ids("project"), Queue).erasable(),
    TableEntry::shard("waiting", Id("cargo"), Queue).erasable(),
];
