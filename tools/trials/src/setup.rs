//! Organizations with a key each, made by the service's own admin commands.

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde_json::Value;

use crate::failure::{During as _, Failure, Result};
use crate::organization::Organization;
use crate::process::Longshored;

/// Enough that starting a process is not what takes the time.
const AT_ONCE: usize = 4;
/// More than any trial can spend, in dollars.
const CREDIT: &str = "1000000";

/// `count` organizations that no limit stops, dealt out to the shards in turn.
pub async fn organizations(
    longshored: &Longshored,
    shards: &[&str],
    count: usize,
) -> Result<Vec<Organization>> {
    let shards = shards.iter().copied().cycle().take(count).enumerate();
    let making = shards.map(|(number, shard)| async move {
        let name = format!("Organization {number}");
        let made = organization(longshored, &name, "enterprise", shard).await?;
        credit(longshored, &made).await?;
        Ok(made)
    });
    stream::iter(making).buffered(AT_ONCE).try_collect().await
}

/// Gives an organization more than it can spend.
pub async fn credit(longshored: &Longshored, organization: &Organization) -> Result<()> {
    let asked = ["credit", "add", &organization.id, CREDIT];
    admin(longshored, &asked).await.map(|_| ())
}

/// One organization without credit; no other of the trial has its name.
pub async fn organization(
    longshored: &Longshored,
    name: &str,
    plan: &str,
    shard: &str,
) -> Result<Organization> {
    let asked = [
        "organization",
        "create",
        name,
        "--plan",
        plan,
        "--shard",
        shard,
    ];
    let id = text(&admin(longshored, &asked).await?, "organization_id")?;
    let slug = name.to_lowercase().replace(' ', "-");
    let asked = ["project", "create", "--organization", &id, "--slug", &slug];
    let project = text(&admin(longshored, &asked).await?, "project_id")?;
    let asked = ["key", "create", "--project", &project, "--name", "trial"];
    Ok(Organization {
        id,
        shard: shard.to_owned(),
        key: text(&admin(longshored, &asked).await?, "key")?,
    })
}

async fn admin(longshored: &Longshored, asked: &[&str]) -> Result<Value> {
    let verb = [["admin"].as_slice(), asked, &["--json"]].concat();
    let output = longshored.run(&verb).await?;
    serde_json::from_str(&output).during(format!("reading the answer to {}", verb.join(" ")))
}

fn text(object: &Value, field: &str) -> Result<String> {
    let text = object.get(field).and_then(Value::as_str).map(str::to_owned);
    text.ok_or_else(|| Failure::new(format!("no {field} in {object}")))
}
