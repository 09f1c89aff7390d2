//! Updates of all rows of a table, in chunks by key. Each chunk is a short transaction that also
//! stores its position.

use std::time::Duration;

use tokio::time::Instant;

use super::ddl_session::DdlSession;
use super::step_state;
use crate::Error;
use crate::Pool;

/// The pause after a chunk is as long as the chunk took, and not longer than this.
const MAX_PAUSE: Duration = Duration::from_secs(5);
/// How many chunks there are between two reports.
const CHUNKS_PER_REPORT: u32 = 100;

/// An update of a step.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChunkedUpdate<'a> {
    pub(super) step: &'a str,
    pub(super) table: &'a str,
    pub(super) key: &'a str,
    pub(super) key_type: &'a str,
    pub(super) assignments: &'a str,
    pub(super) condition: &'a str,
    pub(super) chunk_rows: i64,
}

impl ChunkedUpdate<'_> {
    /// Continues after the stored position.
    pub(super) async fn run(
        self,
        pool: &Pool,
        session: &mut DdlSession,
        report: &(dyn Fn(&str) + Sync),
    ) -> Result<(), Error> {
        let mut chunks = 0_u32;
        loop {
            let began = Instant::now();
            let state = step_state::read(pool, session.schema, self.step).await?;
            let position = state.position.as_deref();
            let Some(end) = self.find_end(session, position).await? else {
                return Ok(());
            };
            self.update_chunk(session, position, &end).await?;
            chunks += 1;
            if chunks.is_multiple_of(CHUNKS_PER_REPORT) {
                report(&format!("{} rows done, up to {end}", state.rows_done));
            }
            tokio::time::sleep(began.elapsed().min(MAX_PAUSE)).await;
        }
    }

    /// The last key of the next chunk, as text; none if there is no further row.
    async fn find_end(
        self,
        session: &mut DdlSession,
        position: Option<&str>,
    ) -> Result<Option<String>, Error> {
        let Self {
            table,
            key,
            chunk_rows,
            ..
        } = self;
        let schema = session.schema.as_str();
        let after = self.after(position);
        let statement = format!(
            "select key::text from (
                 select {key} as key from {schema}.{table} {after} order by {key} limit {chunk_rows}
             ) chunk order by key desc limit 1"
        );
        session.fetch_text(statement).await
    }

    fn after(self, position: Option<&str>) -> String {
        let Self { key, key_type, .. } = self;
        // A key is a number or an id, and was read from the table.
        position.map_or_else(
            || "where true".to_owned(),
            |position| format!("where {key} > '{position}'::{key_type}"),
        )
    }

    async fn update_chunk(
        self,
        session: &mut DdlSession,
        position: Option<&str>,
        end: &str,
    ) -> Result<(), Error> {
        let Self {
            step,
            table,
            key,
            key_type,
            assignments,
            condition,
            ..
        } = self;
        let (schema, after) = (session.schema.as_str(), self.after(position));
        // Several statements at once are one transaction.
        let statement = format!(
            "with chunk as (
                 update {schema}.{table} set {assignments}
                 {after} and {key} <= '{end}'::{key_type} and ({condition})
                 returning 1
             )
             update {schema}.online_step
             set position = '{end}', rows_done = rows_done + (select count(*) from chunk)
             where name = '{step}'"
        );
        session.execute_briefly(&statement).await
    }
}
