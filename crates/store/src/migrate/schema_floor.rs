//! Which programs a schema supports.

use super::schema_name::SchemaName;
use crate::Error;
use crate::Pool;

/// The newest migrations of the release before this one. Its programs work with the schema of this
/// release, so an upgrade can be rolled back by one release. Each release raises them.
const CONTROL_FLOOR: i64 = 6;
const SHARD_FLOOR: i64 = 12;

const fn floor_of(schema: SchemaName) -> i64 {
    match schema {
        SchemaName::Control => CONTROL_FLOOR,
        SchemaName::Shard => SHARD_FLOOR,
    }
}

/// Stores the floor of this release. An earlier release never lowers it.
pub(super) async fn raise(pool: &Pool, schema: SchemaName) -> Result<(), Error> {
    let floor = floor_of(schema);
    match schema {
        SchemaName::Control => {
            sqlx::query!(
                "insert into control.schema_floor (migration) values ($1)
                 on conflict (one) do update set migration = excluded.migration
                 where schema_floor.migration < excluded.migration",
                floor
            )
            .execute(pool)
            .await?
        }
        SchemaName::Shard => {
            sqlx::query!(
                "insert into shard.schema_floor (migration) values ($1)
                 on conflict (one) do update set migration = excluded.migration
                 where schema_floor.migration < excluded.migration",
                floor
            )
            .execute(pool)
            .await?
        }
    };
    Ok(())
}

/// None: the schema is of a release that stored no floor.
pub(super) async fn read(pool: &Pool, schema: SchemaName) -> Result<Option<i64>, Error> {
    let table = format!("{}.schema_floor", schema.as_str());
    let exists = sqlx::query_scalar!(r#"select to_regclass($1) is not null as "exists!""#, table);
    if !exists.fetch_one(pool).await? {
        return Ok(None);
    }
    let floor = match schema {
        SchemaName::Control => {
            sqlx::query_scalar!("select migration from control.schema_floor")
                .fetch_optional(pool)
                .await?
        }
        SchemaName::Shard => {
            sqlx::query_scalar!("select migration from shard.schema_floor")
                .fetch_optional(pool)
                .await?
        }
    };
    Ok(floor)
}
