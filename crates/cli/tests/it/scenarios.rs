//! Runs `clients/scenarios/*.toml` against a real server: `./dev clients cli`.

use std::path::Path;

use serde_json::Value;

use crate::scenario_steps::ScenarioRun;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the servers of ./dev clients"]
async fn scenarios() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/scenarios");
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "there are no scenarios");
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let scenario: Value = toml::from_str(&text).unwrap();
        let mut run = ScenarioRun::new().await;
        for (index, step) in scenario["step"].as_array().unwrap().iter().enumerate() {
            if let Err(reason) = Box::pin(run.step(step)).await {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                assert_eq!("", reason, "{name}, step {}: {step}", index + 1);
            }
        }
    }
}
