//! Checks the schema of a database, and the online steps of its migrations.

use domain::error_chain;
use store::migrate::{self, SchemaName, SchemaState, SchemaStatus};
use store::{Error, Pool};

use crate::doctor::DependencyFindings;

/// Returns whether the schema allows further checks.
pub(super) fn check_state(
    found: &mut DependencyFindings,
    state: Result<SchemaState, Error>,
) -> bool {
    let check = "schema";
    let migrate = "run `longshored migrate`";
    match state {
        Ok(SchemaState::Current) => found.ok(check, "up to date"),
        Ok(SchemaState::AheadSupported) => {
            found.ok(
                check,
                "newer than this program, and supports it: an upgrade is in progress",
            );
        }
        Ok(SchemaState::Missing) => found.wrong(check, "does not exist yet", migrate),
        Ok(SchemaState::Behind) => found.wrong(check, "older than this program", migrate),
        Ok(SchemaState::TooNew) => {
            let text = "newer than this program, and does not support it";
            found.wrong(check, text, "run the longshored release that migrated it");
        }
        Err(ref error) => {
            let fix = "grant this user the schemas control and shard";
            found.wrong(check, &error_chain::chain(error), fix);
        }
    }
    state.is_ok_and(SchemaState::can_serve)
}

pub(super) async fn examine_steps(found: &mut DependencyFindings, pool: &Pool, schema: SchemaName) {
    check_steps(found, migrate::read_status(pool, schema).await);
}

/// Whether the online steps of migrations are finished. The program works without them.
pub(super) fn check_steps(found: &mut DependencyFindings, status: Result<SchemaStatus, Error>) {
    let check = "online steps";
    let open = match status {
        Ok(status) => status.open_steps,
        Err(error) => return found.warning(check, &error_chain::chain(&error), "run doctor again"),
    };
    if open.is_empty() {
        return found.ok(check, "finished");
    }
    let names: Vec<&str> = open.iter().map(|step| step.name.as_str()).collect();
    let text = format!(
        "not finished: {}; some queries are slower until then",
        names.join(", ")
    );
    let fix = "run `longshored migrate`, which continues them while processes serve";
    found.warning(check, &text, fix);
}
