//! Searches every column of every table for a text.

use std::collections::BTreeSet;

use sqlx::AssertSqlSafe;
use store::Pool;

/// A word that no row has unless a test wrote it.
pub(crate) const MARKER: &str = "palimpsest";

pub(crate) async fn find_marker(pool: &Pool) -> BTreeSet<String> {
    find_text(pool, MARKER).await
}

/// `schema.table.column` of each value that contains the text, as text or as bytes.
pub(crate) async fn find_text(pool: &Pool, text: &str) -> BTreeSet<String> {
    let tables = "select n.nspname || '.' || c.relname
                  from pg_class c join pg_namespace n on n.oid = c.relnamespace
                  where n.nspname in ('control', 'shard') and c.relkind in ('r', 'p')
                      and not c.relispartition";
    let tables: Vec<String> = sqlx::query_scalar(tables).fetch_all(pool).await.unwrap();
    let mut found = BTreeSet::new();
    for table in tables {
        // JSON writes bytes in hexadecimal.
        let columns = format!(
            "select distinct '{table}.' || item.key
             from {table} as line
             cross join lateral jsonb_each_text(to_jsonb(line)) as item (key, value)
             where item.value like '%{text}%' or item.value like '%{}%'",
            hex::encode(text)
        );
        let columns = sqlx::query_scalar::<_, String>(AssertSqlSafe(columns));
        found.extend(columns.fetch_all(pool).await.unwrap());
    }
    found
}

/// Runs statements, separated by semicolons.
pub(crate) async fn execute(pool: &Pool, statements: String) {
    sqlx::raw_sql(AssertSqlSafe(statements))
        .execute(pool)
        .await
        .unwrap();
}
