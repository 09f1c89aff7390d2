//! Runs the online steps of a schema, one process at a time, and continues what was interrupted.

use super::backfill::ChunkedUpdate;
use super::concurrent_index::ConcurrentIndex;
use super::ddl_session::{AdvisoryLock, DdlSession};
use super::online_step::{OnlineStep, OnlineWork};
use super::schema_name::SchemaName;
use super::step_state;
use crate::Error;
use crate::Pool;

/// Something that a step did, for the output of `longshored migrate` and its log.
#[derive(Debug, Clone, Copy)]
pub struct StepProgress<'a> {
    pub step: &'a str,
    pub text: &'a str,
}

/// A step that is not finished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenStep {
    pub name: String,
    pub has_begun: bool,
    /// Rows that are done, of a backfill.
    pub rows_done: i64,
}

pub type ReportProgress<'a> = &'a (dyn Fn(StepProgress<'_>) + Sync);

/// Runs the steps of the migrations up to `applied` that are not finished.
pub async fn run_steps(
    pool: &Pool,
    schema: SchemaName,
    steps: &[OnlineStep],
    applied: i64,
    report: ReportProgress<'_>,
) -> Result<(), Error> {
    let due = || steps.iter().filter(|step| step.after <= applied);
    if list_open(pool, schema, due()).await?.is_empty() {
        return Ok(());
    }
    let mut session = DdlSession::open(pool, schema).await?;
    if !session.try_lock(AdvisoryLock::OnlineSteps).await? {
        let text = "another process runs the online steps; waiting for it";
        report(StepProgress { step: "", text });
        session.take_lock(AdvisoryLock::OnlineSteps).await?;
    }
    for step in due() {
        run_step(pool, &mut session, step, report).await?;
    }
    session.close().await
}

async fn run_step(
    pool: &Pool,
    session: &mut DdlSession,
    step: &OnlineStep,
    report: ReportProgress<'_>,
) -> Result<(), Error> {
    let name = step.name;
    let state = step_state::read(pool, session.schema, name).await?;
    if state.finished {
        return Ok(());
    }
    let tell = |text: &str| report(StepProgress { step: name, text });
    step_state::begin(pool, session.schema, name).await?;
    tell("begins");
    match step.work {
        OnlineWork::Index {
            table,
            is_unique,
            definition,
        } => {
            let index = ConcurrentIndex {
                name,
                table,
                is_unique,
                definition,
            };
            index.build(session, &tell).await?;
        }
        OnlineWork::Backfill {
            table,
            key,
            key_type,
            assignments,
            condition,
            chunk_rows,
        } => {
            let update = ChunkedUpdate {
                step: name,
                table,
                key,
                key_type,
                assignments,
                condition,
                chunk_rows,
            };
            update.run(pool, session, &tell).await?;
        }
        OnlineWork::Validation { table, constraint } => {
            // It reads the rows under a lock that stops neither readers nor writers.
            let schema = session.schema.as_str();
            let validate = format!("alter table {schema}.{table} validate constraint {constraint}");
            session.execute_concurrently(&validate).await?;
        }
    }
    step_state::finish(pool, session.schema, name).await?;
    tell("is finished");
    Ok(())
}

/// The steps that are not finished: of these, and of a newer release that began them.
pub(super) async fn list_open(
    pool: &Pool,
    schema: SchemaName,
    steps: impl Iterator<Item = &OnlineStep>,
) -> Result<Vec<OpenStep>, Error> {
    let Some(begun) = step_state::list(pool, schema).await? else {
        return Ok(Vec::new());
    };
    let not_begun = steps
        .filter(|step| begun.iter().all(|state| state.name != step.name))
        .map(|step| OpenStep {
            name: step.name.to_owned(),
            has_begun: false,
            rows_done: 0,
        });
    let unfinished = begun.iter().filter(|state| !state.finished);
    let unfinished = unfinished.map(|state| OpenStep {
        name: state.name.clone(),
        has_begun: true,
        rows_done: state.rows_done,
    });
    Ok(unfinished.chain(not_begun).collect())
}
