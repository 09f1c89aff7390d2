//! The cargo of a job that a provider still has: from the file with its requests, or from its
//! results.

use domain::id::CargoId;
use outbound::provider::batch_provider::{BatchProvider, JobStatus, ResultLocation};
use outbound::provider::client::ProviderCallFailure;
use outbound::provider::item_key::ItemKey;
use outbound::provider::spool::Spool;
use serde_json::Value;
use workers::recovery::unknown_jobs::FoundJob;

/// The fields in which providers repeat the key of an item.
const KEY_FIELDS: [&str; 2] = ["custom_id", "key"];

/// Empty if the provider has neither the requests nor results yet.
pub(super) async fn read(
    provider: &dyn BatchProvider,
    job: &FoundJob,
) -> Result<Vec<CargoId>, ProviderCallFailure> {
    let files = match &job.upload {
        Some(upload) => vec![ResultLocation::File(upload.0.clone())],
        None => match provider.fetch_status(&job.job).await? {
            JobStatus::Ended { results, .. } => results,
            JobStatus::Running { .. } | JobStatus::Failed { .. } | JobStatus::Gone => Vec::new(),
        },
    };
    let mut cargo = Vec::new();
    for file in files {
        let mut spool = Spool::new(&std::env::temp_dir()).await?;
        provider
            .download_results(&job.job, &file, &mut spool)
            .await?;
        let mut lines = spool.lines();
        while let Some(line) = lines.next().await? {
            cargo.extend(cargo_of(&line));
        }
    }
    cargo.sort_unstable();
    cargo.dedup();
    Ok(cargo)
}

fn cargo_of(line: &[u8]) -> Option<CargoId> {
    let line: Value = serde_json::from_slice(line).ok()?;
    let key = KEY_FIELDS
        .iter()
        .find_map(|field| line.get(field)?.as_str())?;
    key.parse::<ItemKey>().ok().map(|key| key.cargo)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_its_cargo() {
        let cargo = "crg_019b76daa87b774b805000000000002a";
        for line in [
            format!(r#"{{"custom_id":"{cargo}-a1","body":{{}}}}"#),
            format!(r#"{{"key":"{cargo}-a2"}}"#),
        ] {
            assert_eq!(cargo_of(line.as_bytes()).unwrap().to_string(), cargo);
        }
        for line in ["", "{}", r#"{"custom_id":"theirs"}"#] {
            assert_eq!(cargo_of(line.as_bytes()), None);
        }
    }
}
