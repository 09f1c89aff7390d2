//! What the database knows about the steps of a schema.

use super::schema_name::SchemaName;
use crate::Error;
use crate::Pool;

/// A step's row; without one it has not begun.
#[derive(Debug, Clone, Default, PartialEq, Eq, sqlx::FromRow)]
pub(super) struct StepState {
    pub(super) name: String,
    pub(super) position: Option<String>,
    pub(super) rows_done: i64,
    pub(super) finished: bool,
}

/// All steps that have begun, by name. None if the schema has no table of steps yet.
pub(super) async fn list(pool: &Pool, schema: SchemaName) -> Result<Option<Vec<StepState>>, Error> {
    let table = format!("{}.online_step", schema.as_str());
    let exists = sqlx::query_scalar!(r#"select to_regclass($1) is not null as "exists!""#, table);
    if !exists.fetch_one(pool).await? {
        return Ok(None);
    }
    let rows =
        match schema {
            SchemaName::Control => sqlx::query_as!(
                StepState,
                "select name, position, rows_done, finished from control.online_step order by name"
            )
            .fetch_all(pool)
            .await?,
            SchemaName::Shard => sqlx::query_as!(
                StepState,
                "select name, position, rows_done, finished from shard.online_step order by name"
            )
            .fetch_all(pool)
            .await?,
        };
    Ok(Some(rows))
}

pub(super) async fn read(pool: &Pool, schema: SchemaName, step: &str) -> Result<StepState, Error> {
    let all = list(pool, schema).await?.unwrap_or_default();
    let found = all.into_iter().find(|state| state.name == step);
    Ok(found.unwrap_or_default())
}

pub(super) async fn begin(pool: &Pool, schema: SchemaName, step: &str) -> Result<(), Error> {
    match schema {
        SchemaName::Control => {
            sqlx::query!(
                "insert into control.online_step (name) values ($1) on conflict do nothing",
                step
            )
            .execute(pool)
            .await?
        }
        SchemaName::Shard => {
            sqlx::query!(
                "insert into shard.online_step (name) values ($1) on conflict do nothing",
                step
            )
            .execute(pool)
            .await?
        }
    };
    Ok(())
}

pub(super) async fn finish(pool: &Pool, schema: SchemaName, step: &str) -> Result<(), Error> {
    match schema {
        SchemaName::Control => {
            sqlx::query!(
                "update control.online_step set finished = true where name = $1",
                step
            )
            .execute(pool)
            .await?
        }
        SchemaName::Shard => {
            sqlx::query!(
                "update shard.online_step set finished = true where name = $1",
                step
            )
            .execute(pool)
            .await?
        }
    };
    Ok(())
}
