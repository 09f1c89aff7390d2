//! The berth map: complete, and every shard in it is configured.

use std::collections::BTreeSet;

use store::control::berth;

use crate::databases::Stores;
use crate::doctor::DependencyFindings;

const CHECK: &str = "berths";

pub(super) async fn examine(found: &mut DependencyFindings, stores: &Stores) {
    let configured: BTreeSet<&str> = stores.shards.iter().map(|shard| &*shard.name).collect();
    match berth::read_map(&stores.control).await {
        Ok(map) => check_map(found, &map, &configured),
        Err(failure) if failure.is_unavailable() => {
            found.wrong(
                CHECK,
                "control became unreachable during the check",
                "run doctor again",
            );
        }
        Err(_) => found.wrong(
            CHECK,
            "the berth map is incomplete",
            "run `longshored migrate`, which creates the map if there is none",
        ),
    }
}

pub(super) fn check_map(
    found: &mut DependencyFindings,
    map: &[String],
    configured: &BTreeSet<&str>,
) {
    let named: BTreeSet<&str> = map.iter().map(String::as_str).collect();
    let unknown: Vec<_> = named.difference(configured).copied().collect();
    let unused: Vec<_> = configured.difference(&named).copied().collect();
    if !unknown.is_empty() {
        let text = format!(
            "the berth map names shards that are not configured: {}",
            unknown.join(", ")
        );
        found.wrong(
            CHECK,
            &text,
            "add these shards with the same names to SVC_SHARD_DATABASE_URLS",
        );
    }
    if !unused.is_empty() {
        let text = format!("no berth is assigned to {}", unused.join(", "));
        found.warning(
            CHECK,
            &text,
            "new organizations never use such a shard; move berths to it, or remove it from the \
             settings",
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
