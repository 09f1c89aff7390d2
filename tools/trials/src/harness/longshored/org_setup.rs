//! Creates organizations with a key each, by the service's admin commands.

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde_json::Value;

use crate::harness::longshored::longshored_process::LongshoredProgram;
use crate::harness::{FailureContext as _, Result, TrialOrganization, string_field};

/// Enough to hide the time that starting a process takes.
const MAX_CONCURRENT_COMMANDS: usize = 4;
/// More than any trial can spend.
const CREDIT_DOLLARS: &str = "1000000";

/// Creates `count` organizations without limits, assigned to the shards in turn.
pub async fn create_organizations(
    longshored: &LongshoredProgram,
    shards: &[&str],
    count: usize,
) -> Result<Vec<TrialOrganization>> {
    let shards = shards.iter().copied().cycle().take(count).enumerate();
    let making = shards.map(|(number, shard)| async move {
        let name = format!("Organization {number}");
        let made = create_organization(longshored, &name, "enterprise", shard).await?;
        add_credit(longshored, &made).await?;
        Ok(made)
    });
    stream::iter(making)
        .buffered(MAX_CONCURRENT_COMMANDS)
        .try_collect()
        .await
}

/// Gives an organization more credit than it can spend.
pub async fn add_credit(
    longshored: &LongshoredProgram,
    organization: &TrialOrganization,
) -> Result<()> {
    let arguments = ["credit", "add", &organization.id, CREDIT_DOLLARS];
    run_admin_command(longshored, &arguments).await.map(|_| ())
}

/// Creates one organization without credit; its name must be unique in the trial.
pub async fn create_organization(
    longshored: &LongshoredProgram,
    name: &str,
    plan: &str,
    shard: &str,
) -> Result<TrialOrganization> {
    let arguments = [
        "organization",
        "create",
        name,
        "--plan",
        plan,
        "--shard",
        shard,
    ];
    let id = string_field(
        &run_admin_command(longshored, &arguments).await?,
        "organization_id",
    )?;
    let slug = name.to_lowercase().replace(' ', "-");
    let arguments = ["project", "create", "--organization", &id, "--slug", &slug];
    let project = string_field(
        &run_admin_command(longshored, &arguments).await?,
        "project_id",
    )?;
    let arguments = ["key", "create", "--project", &project, "--name", "trial"];
    Ok(TrialOrganization {
        id,
        shard: shard.to_owned(),
        api_key: string_field(&run_admin_command(longshored, &arguments).await?, "key")?,
    })
}

pub async fn run_admin_command(
    longshored: &LongshoredProgram,
    arguments: &[&str],
) -> Result<Value> {
    let verb = [["admin"].as_slice(), arguments, &["--json"]].concat();
    let output = longshored.run(&verb).await?;
    serde_json::from_str(&output).context(format!("reading the output of {}", verb.join(" ")))
}
