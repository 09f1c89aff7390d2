//! Organizations with a key each, made by the service's own admin commands.

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde_json::Value;

use crate::failure::{During as _, Failure, Result};
use crate::organization::Organization;
use crate::process::Longshored;

/// Enough that starting a process is not what takes the time.
const AT_ONCE: usize = 4;

/// `count` organizations, dealt out to the shards in turn.
pub async fn organizations(
    longshored: &Longshored,
    shards: &[&str],
    count: usize,
) -> Result<Vec<Organization>> {
    let shards = shards.iter().copied().cycle().take(count).enumerate();
    let making = shards.map(|(number, shard)| organization(longshored, number, shard));
    stream::iter(making).buffered(AT_ONCE).try_collect().await
}

async fn organization(longshored: &Longshored, number: usize, shard: &str) -> Result<Organization> {
    let name = format!("Organization {number}");
    let plan = ["--plan", "enterprise", "--shard", shard, "--json"];
    let asked = [["admin", "organization", "create", &name].as_slice(), &plan].concat();
    let made = said(longshored, &asked).await?;
    let id = text(&made, "organization_id")?;

    let slug = format!("project-{number}");
    let place = ["--organization", &id, "--slug", &slug, "--json"];
    let asked = [["admin", "project", "create"].as_slice(), &place].concat();
    let project = text(&said(longshored, &asked).await?, "project_id")?;

    let place = ["--project", &project, "--name", "trial", "--json"];
    let asked = [["admin", "key", "create"].as_slice(), &place].concat();
    let made = said(longshored, &asked).await?;
    Ok(Organization {
        shard: shard.to_owned(),
        key: text(&made, "key")?,
    })
}

async fn said(longshored: &Longshored, verb: &[&str]) -> Result<Value> {
    let output = longshored.run(verb).await?;
    serde_json::from_str(&output).during(format!("reading the answer to {}", verb.join(" ")))
}

fn text(object: &Value, field: &str) -> Result<String> {
    let text = object.get(field).and_then(Value::as_str).map(str::to_owned);
    text.ok_or_else(|| Failure::new(format!("no {field} in {object}")))
}
