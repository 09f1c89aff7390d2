//! The registry of tables against the catalogue of a migrated database.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::Executor as _;
use store::Pool;
use store::tables::{BerthColumn, Encryption, Erasure, Retention, TABLES, TableEntry};
use test_support::database::TestDatabase;

/// A table as the database has it: whether it is partitioned, and its columns with their types.
#[derive(Debug, Default)]
struct CatalogueTable {
    is_partitioned: bool,
    columns: BTreeMap<String, String>,
}

#[tokio::test]
async fn every_table_has_an_entry_that_fits_it() {
    let database = TestDatabase::new().await;
    assert_eq!(mismatches(&database.shard.pool).await, BTreeSet::new());
}

#[tokio::test]
async fn a_table_without_an_entry_is_found() {
    let database = TestDatabase::new().await;
    let pool = &database.shard.pool;
    let mut session = pool.acquire().await.unwrap();
    session
        .execute("create table shard.unregistered (id uuid primary key)")
        .await
        .unwrap();
    session
        .execute("alter table shard.storage rename column organization to owner")
        .await
        .unwrap();
    drop(session);
    let found: Vec<String> = mismatches(pool).await.into_iter().collect();
    assert_eq!(
        found,
        [
            "shard.storage has no column organization of type uuid",
            "shard.unregistered is not in the registry",
        ]
    );
}

#[test]
fn entries_are_in_order_and_there_once() {
    let names: Vec<(&str, &str)> = TABLES.iter().map(|it| (it.schema, it.name)).collect();
    assert!(names.is_sorted_by(|one, next| one < next), "{names:?}");
}

#[test]
fn text_of_customers_is_erased_except_in_the_ledger() {
    let kept: Vec<&str> = TABLES
        .iter()
        .filter(|it| !it.customer_text.is_empty())
        .filter(|it| !matches!(it.erasure, Erasure::Deleted | Erasure::Emptied))
        .map(|it| it.name)
        .collect();
    assert_eq!(kept, ["posting"]);
    // Rows that carry the id of a customer are erased, or kept on purpose.
    let forgotten: Vec<&str> = TABLES
        .iter()
        .filter(|it| matches!(it.berth, BerthColumn::Id(_) | BerthColumn::Ids(_)))
        .filter(|it| it.erasure == Erasure::NothingToErase)
        .map(|it| it.name)
        .collect();
    assert_eq!(forgotten, [""; 0]);
}

#[test]
fn contents_are_encrypted_and_names_are_not() {
    let mut encrypted = Vec::new();
    for entry in TABLES {
        if let Encryption::EncryptedExcept(plain) = entry.encryption {
            let columns = entry.customer_text.iter();
            let columns = columns.filter(|column| !plain.contains(column));
            encrypted.extend(columns.map(|column| format!("{}.{column}", entry.name)));
        }
    }
    let expected = [
        "attempt.answer",
        "cargo.callback_url",
        "cargo_group.metadata",
        "cargo_group.callback_url",
        "dropin_batch.options",
        "dropin_batch.failure",
        "file.filename",
        "file.metadata",
        "handover.body",
        "handover.answer",
        "outcome.body",
        "parcel.filename",
        "parcel_block.body",
        "request.body",
        "request.metadata",
        "request.warnings",
        "request.custom_id",
    ];
    assert_eq!(encrypted, expected);
}

/// What the registry and the database do not agree on.
async fn mismatches(pool: &Pool) -> BTreeSet<String> {
    let mut tables = catalogue(pool).await;
    let mut found = BTreeSet::new();
    for entry in TABLES {
        let name = format!("{}.{}", entry.schema, entry.name);
        match tables.remove(&name) {
            Some(table) => found.extend(differences(&name, entry, &table)),
            None => {
                found.insert(format!("{name} does not exist"));
            }
        }
    }
    let unknown = tables.into_keys();
    found.extend(unknown.map(|name| format!("{name} is not in the registry")));
    found
}

fn differences(name: &str, entry: &TableEntry, table: &CatalogueTable) -> Vec<String> {
    let mut found = Vec::new();
    let berth = match entry.berth {
        BerthColumn::Id(column) => Some((column, "uuid")),
        BerthColumn::Ids(column) => Some((column, "uuid[]")),
        BerthColumn::Number(column) => Some((column, "smallint")),
        BerthColumn::None => None,
    };
    if let Some((column, kind)) = berth
        && table.columns.get(column).map(String::as_str) != Some(kind)
    {
        found.push(format!("{name} has no column {column} of type {kind}"));
    }
    for column in entry.customer_text {
        if !table.columns.contains_key(*column) {
            found.push(format!("{name} has no column {column}"));
        }
    }
    if table.is_partitioned != (entry.retention == Retention::Days) {
        found.push(format!(
            "{name} is dropped by day only if it is partitioned"
        ));
    }
    found
}

async fn catalogue(pool: &Pool) -> BTreeMap<String, CatalogueTable> {
    let mut session = pool.acquire().await.unwrap();
    let rows: Vec<(String, bool, String, String)> = sqlx::query_as(
        "select n.nspname || '.' || c.relname, c.relkind = 'p', a.attname::text,
            format_type(a.atttypid, a.atttypmod)
         from pg_class c
         join pg_namespace n on n.oid = c.relnamespace
         join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
         where n.nspname in ('control', 'shard') and c.relkind in ('r', 'p')
           and not c.relispartition",
    )
    .fetch_all(&mut session)
    .await
    .unwrap();
    let mut tables: BTreeMap<String, CatalogueTable> = BTreeMap::new();
    for (name, is_partitioned, column, kind) in rows {
        let table = tables.entry(name).or_default();
        table.is_partitioned = is_partitioned;
        table.columns.insert(column, kind);
    }
    tables
}
