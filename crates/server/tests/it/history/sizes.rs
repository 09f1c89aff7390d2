//! Rows and bytes of every table of a shard; partitions belong to their parent.

use std::collections::{BTreeMap, BTreeSet};

use store::Shard;
use store::tables::TABLES;

#[derive(Debug, Clone, Copy)]
pub(super) struct TableSize {
    pub(super) rows: i64,
    /// With TOAST and the free space map.
    pub(super) heap: i64,
    pub(super) indexes: i64,
}

impl TableSize {
    pub(super) fn bytes(&self) -> i64 {
        self.heap + self.indexes
    }
}

pub(super) async fn read(shard: &Shard) -> BTreeMap<String, TableSize> {
    let mut sizes = BTreeMap::new();
    for entry in TABLES.iter().filter(|it| it.schema == "shard") {
        let name = entry.name;
        let size = format!(
            "select (select count(*) from shard.{name}),
                 sum(pg_table_size(relid))::bigint, sum(pg_indexes_size(relid))::bigint
             from (select relid from pg_partition_tree('shard.{name}')
                   union select 'shard.{name}'::regclass) parts"
        );
        let size = sqlx::query_as(sqlx::AssertSqlSafe(size));
        let (rows, heap, indexes) = size.fetch_one(&shard.pool).await.unwrap();
        let size = TableSize {
            rows,
            heap,
            indexes,
        };
        sizes.insert(name.to_owned(), size);
    }
    sizes
}

/// The tables that have rows.
pub(super) fn list_filled(sizes: &BTreeMap<String, TableSize>) -> BTreeSet<String> {
    let filled = sizes.iter().filter(|(_, size)| size.rows > 0);
    filled.map(|(name, _)| name.clone()).collect()
}
