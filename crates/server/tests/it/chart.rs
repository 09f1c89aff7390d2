//! The Helm chart can set everything that `longshored config` shows.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

const SCHEMA: &str = include_str!("../../../../chart/values.schema.json");

fn configured_settings() -> BTreeSet<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_longshored"))
        .args(["config", "--json"])
        .env_clear()
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let settings = report["settings"].as_array().unwrap().iter();
    settings
        .map(|setting| setting["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn the_schema_of_the_chart_has_every_setting() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let in_chart: BTreeSet<String> = ["settings", "secrets"]
        .into_iter()
        .flat_map(|part| {
            let properties = &schema["properties"][part]["properties"];
            properties.as_object().unwrap().keys().cloned()
        })
        .collect();
    // If they differ: ./dev chart --schema
    assert_eq!(in_chart, configured_settings());
}
