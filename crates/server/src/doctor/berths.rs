//! The map of berths: whole, and naming shards that we know.

use std::collections::BTreeSet;

use store::control::berth;

use crate::doctor::Findings;
use crate::wiring::Stores;

const CHECK: &str = "berths";

pub(super) async fn examine(found: &mut Findings, stores: &Stores) {
    let configured: BTreeSet<&str> = stores.shards.iter().map(|shard| &*shard.name).collect();
    match berth::map(&stores.control).await {
        Ok(map) => judge(found, &map, &configured),
        Err(failure) if failure.is_away() => {
            found.wrong(CHECK, "control went away meanwhile", "ask again");
        }
        Err(_) => found.wrong(
            CHECK,
            "the map of berths is not whole",
            "run: longshored migrate (it makes the map when there is none)",
        ),
    }
}

pub(super) fn judge(found: &mut Findings, map: &[String], configured: &BTreeSet<&str>) {
    let named: BTreeSet<&str> = map.iter().map(String::as_str).collect();
    let unknown: Vec<_> = named.difference(configured).copied().collect();
    let unused: Vec<_> = configured.difference(&named).copied().collect();
    if !unknown.is_empty() {
        let text = format!(
            "some lie on shards that are not configured: {}",
            unknown.join(", ")
        );
        found.wrong(
            CHECK,
            &text,
            "name them in SVC_SHARD_DATABASE_URLS as the map does",
        );
    }
    if !unused.is_empty() {
        let text = format!("no berth lies on {}", unused.join(", "));
        found.warning(
            CHECK,
            &text,
            "no organization will be put there until berths are moved to it",
        );
    }
    if unknown.is_empty() && unused.is_empty() {
        found.ok(
            CHECK,
            &format!(
                "{} on {}",
                map.len(),
                named.into_iter().collect::<Vec<_>>().join(", ")
            ),
        );
    }
}
