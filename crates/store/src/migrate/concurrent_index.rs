//! Indexes that are built while rows are written.

use super::ddl_session::{AdvisoryLock, DdlSession};
use crate::Error;

/// An index of a step.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConcurrentIndex<'a> {
    pub(super) name: &'a str,
    pub(super) table: &'a str,
    pub(super) is_unique: bool,
    pub(super) definition: &'a str,
}

impl ConcurrentIndex<'_> {
    /// `report` gets a text for each partition that is done.
    pub(super) async fn build(
        self,
        session: &mut DdlSession,
        report: &(dyn Fn(&str) + Sync),
    ) -> Result<(), Error> {
        if self.is_partitioned(session).await? {
            // A partition without the index that is dropped meanwhile would leave the index of the
            // table invalid.
            session.take_lock(AdvisoryLock::Days).await?;
            self.build_partitioned(session, report).await
        } else {
            self.build_plain(session).await
        }
    }

    async fn is_partitioned(self, session: &mut DdlSession) -> Result<bool, Error> {
        let schema = session.schema.as_str();
        let kind = sqlx::query_scalar!(
            r#"select c.relkind = 'p' as "partitioned!" from pg_class c
               where c.relnamespace = $1::text::regnamespace and c.relname = $2"#,
            schema,
            self.table
        );
        Ok(kind.fetch_one(session.connection()).await?)
    }

    /// None: it does not exist.
    async fn read_validity(self, session: &mut DdlSession) -> Result<Option<bool>, Error> {
        let schema = session.schema.as_str();
        let valid = sqlx::query_scalar!(
            "select i.indisvalid from pg_class c join pg_index i on i.indexrelid = c.oid
             where c.relnamespace = $1::text::regnamespace and c.relname = $2",
            schema,
            self.name
        );
        Ok(valid.fetch_optional(session.connection()).await?)
    }

    fn create_statement(self, schema: &str, concurrently: &str, only: &str) -> String {
        let Self {
            name,
            table,
            definition,
            ..
        } = self;
        let unique = if self.is_unique { "unique " } else { "" };
        format!("create {unique}index{concurrently} {name} on{only} {schema}.{table} {definition}")
    }

    /// A build that was interrupted leaves an invalid index: it is dropped and built again.
    async fn build_plain(self, session: &mut DdlSession) -> Result<(), Error> {
        let schema = session.schema.as_str();
        match self.read_validity(session).await? {
            Some(true) => return Ok(()),
            Some(false) => {
                let drop = format!("drop index concurrently {schema}.{}", self.name);
                session.execute_concurrently(&drop).await?;
            }
            None => {}
        }
        let create = self.create_statement(schema, " concurrently", "");
        session.execute_concurrently(&create).await
    }

    /// Partitions that are made meanwhile get the index when they are attached to the table.
    async fn build_partitioned(
        self,
        session: &mut DdlSession,
        report: &(dyn Fn(&str) + Sync),
    ) -> Result<(), Error> {
        let schema = session.schema.as_str();
        if self.read_validity(session).await? == Some(true) {
            return Ok(());
        }
        let mut missing = self.list_partitions_without(session).await?;
        if missing.is_empty() && self.read_validity(session).await?.is_some() {
            // The last partition without it was dropped between two runs. Only attaching an index
            // makes the index of the table valid.
            let drop = format!("drop index {schema}.{}", self.name);
            session.execute_briefly(&drop).await?;
        }
        if self.read_validity(session).await?.is_none() {
            let create = self.create_statement(schema, "", " only");
            session.execute_briefly(&create).await?;
            missing = self.list_partitions_without(session).await?;
        }
        for partition in missing {
            let name = format!("{partition}_{}", self.name);
            let here = ConcurrentIndex {
                name: &name,
                table: &partition,
                ..self
            };
            here.build_plain(session).await?;
            let attach = format!(
                "alter index {schema}.{} attach partition {schema}.{name}",
                self.name
            );
            session.execute_briefly(&attach).await?;
            report(&format!("{partition} has its index"));
        }
        Ok(())
    }

    /// The partitions whose index is not attached, in their order.
    async fn list_partitions_without(self, session: &mut DdlSession) -> Result<Vec<String>, Error> {
        let schema = session.schema.as_str();
        let names = sqlx::query_scalar!(
            r#"select c.relname::text as "name!"
               from pg_inherits p join pg_class c on c.oid = p.inhrelid
               where p.inhparent = ($1 || '.' || $2)::regclass and not p.inhdetachpending
                   and not exists (
                       select from pg_inherits i join pg_index x on x.indexrelid = i.inhrelid
                       where i.inhparent = to_regclass($1 || '.' || $3) and x.indrelid = c.oid)
               order by c.relname"#,
            schema,
            self.table,
            self.name
        );
        Ok(names.fetch_all(session.connection()).await?)
    }
}
