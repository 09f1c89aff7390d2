//! Checks the online steps of migrations.

use domain::error_chain;
use store::Error;
use store::migrate::SchemaStatus;

use crate::doctor::DependencyFindings;

/// Whether the online steps of migrations are finished. The program works without them.
pub(super) fn check(found: &mut DependencyFindings, status: Result<SchemaStatus, Error>) {
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
