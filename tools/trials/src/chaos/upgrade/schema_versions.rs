//! The migrations of control and of the shard, and which programs they support.

use sqlx::{AssertSqlSafe, PgPool};

use crate::harness::{CONTROL, FailureContext as _, Result, SHARD, TrialEnvironment};

/// Control and the shard, each with the name of its schema.
#[derive(Debug)]
pub struct SchemaVersions {
    databases: Vec<(&'static str, PgPool)>,
}

/// What is applied, in the order of the databases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedSchemas(Vec<AppliedSchema>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct AppliedSchema {
    name: &'static str,
    newest: i64,
    /// How many migrations.
    count: i64,
    /// The newest migration that a program must know. Only programs whose own schema has it read it.
    floor: Option<i64>,
}

impl SchemaVersions {
    pub fn new(environment: &TrialEnvironment) -> Result<Self> {
        let server = environment.database_server()?;
        let databases = [("control", CONTROL), ("shard", SHARD)];
        Ok(Self {
            databases: databases
                .map(|(schema, database)| (schema, server.pool(database)))
                .into(),
        })
    }

    pub async fn read(&self) -> Result<AppliedSchemas> {
        let mut schemas = Vec::new();
        for (schema, pool) in &self.databases {
            let query = format!("select max(version), count(*) from {schema}._migrations");
            let (newest, count): (i64, i64) = sqlx::query_as(AssertSqlSafe(query))
                .fetch_one(pool)
                .await
                .context("reading migrations")?;
            let exists = format!("select to_regclass('{schema}.schema_floor') is not null");
            let exists: bool = sqlx::query_scalar(AssertSqlSafe(exists))
                .fetch_one(pool)
                .await
                .context("looking for a floor")?;
            let floor = if exists {
                let query = format!("select migration from {schema}.schema_floor");
                let floor = sqlx::query_scalar(AssertSqlSafe(query));
                let floor = floor.fetch_optional(pool).await;
                floor.context("reading a floor")?
            } else {
                None
            };
            schemas.push(AppliedSchema {
                name: schema,
                newest,
                count,
                floor,
            });
        }
        Ok(AppliedSchemas(schemas))
    }

    /// Undoes the online steps, so that the next `longshored migrate` runs them again.
    pub async fn reopen_steps(&self) -> Result<()> {
        for (schema, pool) in &self.databases {
            let statements = format!(
                "do $$ declare step text; begin
                     for step in select name from {schema}.online_step loop
                         execute format('drop index if exists {schema}.%I', step);
                     end loop;
                     delete from {schema}.online_step;
                 end $$"
            );
            let undone = sqlx::raw_sql(AssertSqlSafe(statements)).execute(pool).await;
            undone.context("undoing online steps")?;
        }
        Ok(())
    }
}

impl AppliedSchemas {
    /// Whether a program of this version works with the schemas `now`.
    pub fn supports(&self, now: &Self) -> bool {
        self.0.iter().zip(&now.0).all(|(own, now)| {
            let reads_floor = own.floor.is_some();
            match now.floor.filter(|_| reads_floor) {
                Some(floor) => floor <= own.newest,
                None => now.count - own.count <= 1,
            }
        })
    }

    pub fn describe(&self) -> String {
        let schemas = self.0.iter();
        let schemas = schemas.map(|schema| format!("{} {}", schema.name, schema.newest));
        schemas.collect::<Vec<_>>().join(", ")
    }

    /// How far these are ahead of others.
    pub fn describe_distance(&self, old: &Self) -> String {
        let schemas = self.0.iter().zip(&old.0);
        let schemas = schemas.map(|(new, old)| {
            format!("{} is {} migrations ahead", new.name, new.count - old.count)
        });
        schemas.collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schemas(newest: i64, floor: Option<i64>) -> AppliedSchemas {
        AppliedSchemas(vec![AppliedSchema {
            name: "shard",
            newest,
            count: newest,
            floor,
        }])
    }

    #[test]
    fn a_program_without_floors_works_one_migration_ahead() {
        let old = schemas(12, None);
        assert!(old.supports(&schemas(12, None)));
        assert!(old.supports(&schemas(13, Some(12))));
        assert!(!old.supports(&schemas(14, Some(12))));
    }

    #[test]
    fn a_program_with_floors_works_as_far_as_the_floor_allows() {
        let old = schemas(13, Some(12));
        assert!(old.supports(&schemas(16, Some(13))));
        assert!(!old.supports(&schemas(16, Some(14))));
    }
}
