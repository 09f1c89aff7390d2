//! `longshored migrate --status`: what is applied, and what is left to do.

use std::fmt::Write as _;

use serde::Serialize;
use store::migrate::{OpenStep, SchemaState, SchemaStatus, read_status};

use crate::databases;
use crate::migrate::{self, MigrateFailure};
use crate::settings::Settings;

#[derive(Debug, Serialize)]
pub struct MigrateReport {
    /// Nothing is left to do.
    pub done: bool,
    databases: Vec<MigratedDatabase>,
}

#[derive(Debug, Serialize)]
struct MigratedDatabase {
    name: String,
    /// Whether processes of this release can start.
    serves: bool,
    migration: Option<i64>,
    pending_migrations: usize,
    open_steps: Vec<UnfinishedStep>,
}

#[derive(Debug, Serialize)]
struct UnfinishedStep {
    name: String,
    has_begun: bool,
    rows_done: i64,
}

pub async fn read(settings: &Settings) -> Result<MigrateReport, MigrateFailure> {
    let stores = databases::connect_for_command(settings)?;
    let mut databases = Vec::new();
    for (name, pool, schema) in migrate::schemas(&stores) {
        match read_status(pool, schema).await {
            Ok(status) => databases.push(MigratedDatabase::new(name, status)),
            Err(source) => return Err(MigrateFailure::Database { name, source }),
        }
    }
    Ok(MigrateReport::new(databases))
}

impl MigrateReport {
    fn new(databases: Vec<MigratedDatabase>) -> Self {
        Self {
            done: databases
                .iter()
                .all(|it| it.serves && it.pending_migrations == 0 && it.open_steps.is_empty()),
            databases,
        }
    }
}

impl MigratedDatabase {
    fn new(name: String, status: SchemaStatus) -> Self {
        let SchemaStatus {
            state,
            applied,
            pending,
            open_steps,
        } = status;
        Self {
            name,
            serves: SchemaState::can_serve(state),
            migration: applied,
            pending_migrations: pending,
            open_steps: open_steps.into_iter().map(UnfinishedStep::from).collect(),
        }
    }
}

impl From<OpenStep> for UnfinishedStep {
    fn from(step: OpenStep) -> Self {
        let OpenStep {
            name,
            has_begun,
            rows_done,
        } = step;
        Self {
            name,
            has_begun,
            rows_done,
        }
    }
}

pub fn render_text(report: &MigrateReport) -> String {
    let mut text = String::new();
    for database in &report.databases {
        let name = &database.name;
        let migration = database.migration.map_or_else(
            || "no migration is applied".to_owned(),
            |number| format!("migration {number} is applied"),
        );
        let pending = database.pending_migrations;
        // Writing to a String does not fail.
        let _written = writeln!(text, "{name}: {migration}; pending: {pending}");
        for step in &database.open_steps {
            let begun = if step.has_begun { "begun" } else { "not begun" };
            let (step, rows) = (&step.name, step.rows_done);
            let _written = writeln!(text, "{name}: step {step}: {begun}; rows done: {rows}");
        }
    }
    text.push_str(if report.done {
        "nothing is left to do"
    } else {
        "run `longshored migrate`, which continues where it was interrupted"
    });
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_names_open_steps_and_pending_migrations() {
        let open = OpenStep {
            name: "batch_job".to_owned(),
            has_begun: true,
            rows_done: 0,
        };
        let status = |pending, open_steps| SchemaStatus {
            state: SchemaState::Current,
            applied: Some(13),
            pending,
            open_steps,
        };
        let databases = vec![
            MigratedDatabase::new("control".to_owned(), status(0, Vec::new())),
            MigratedDatabase::new("shard main".to_owned(), status(2, vec![open])),
        ];
        let report = MigrateReport::new(databases);
        assert!(!report.done);
        insta::assert_snapshot!(render_text(&report), @r"
        control: migration 13 is applied; pending: 0
        shard main: migration 13 is applied; pending: 2
        shard main: step batch_job: begun; rows done: 0
        run `longshored migrate`, which continues where it was interrupted
        ");
    }
}
