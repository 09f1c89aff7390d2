//! What identifies a run: the same file with the same options is the same run.

use domain::cargo_group::GroupName;
use sha2::{Digest as _, Sha256};

use crate::cli_error::{CliError, CliResult};
use crate::exit_status::ExitStatus;
use crate::requests::request_line::LineDefaults;

/// Bytes of the digest in a derived name.
const NAME_DIGEST_BYTES: usize = 8;
/// Of the name of a run, in the name of a retry. Names have at most 128 bytes.
const MAX_RETRIED_NAME_BYTES: usize = 100;

/// The name of the run's group: the given one, or one that follows from file and options.
pub fn group_name(
    given: Option<&str>,
    file_sha256: &[u8; 32],
    defaults: &LineDefaults,
) -> CliResult<String> {
    if let Some(name) = given {
        let name = GroupName::new(name).map_err(|error| {
            let message = format!("--name {name}: {error}");
            CliError::new(ExitStatus::Usage, "invalid_name", message)
        })?;
        return Ok(name.as_str().to_owned());
    }
    let mut digest = Sha256::new();
    digest.update(file_sha256);
    let options = [
        defaults.model.clone(),
        defaults.max_tokens.map(|it| it.to_string()),
        defaults.system.clone(),
    ];
    for option in options {
        // The length separates an option from the next one, and absent from empty.
        let length = option
            .as_ref()
            .map_or(-1, |text| i64::try_from(text.len()).unwrap_or(0));
        digest.update(length.to_le_bytes());
        digest.update(option.unwrap_or_default().as_bytes());
    }
    let digest: [u8; 32] = digest.finalize().into();
    let short = digest.get(..NAME_DIGEST_BYTES).unwrap_or_default();
    Ok(format!("run-{}", hex::encode(short)))
}

/// The name of the group that loads the failed requests of a run again.
pub fn retry_name(run: &str, failed_digest: &[u8; 32]) -> String {
    let run = run.get(..MAX_RETRIED_NAME_BYTES).unwrap_or(run);
    let short = failed_digest.get(..NAME_DIGEST_BYTES).unwrap_or_default();
    format!("{run}:retry-{}", hex::encode(short))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(model: Option<&str>, system: Option<&str>) -> String {
        let defaults = LineDefaults {
            model: model.map(str::to_owned),
            max_tokens: None,
            system: system.map(str::to_owned),
        };
        group_name(None, &[7; 32], &defaults).unwrap()
    }

    #[test]
    fn the_same_command_is_the_same_run() {
        assert_eq!(name(Some("m"), None), name(Some("m"), None));
        assert_eq!(name(None, None).len(), "run-".len() + 16);
    }

    #[test]
    fn another_option_is_another_run() {
        let names = [
            name(None, None),
            name(Some(""), None),
            name(Some("m"), None),
            name(None, Some("m")),
        ];
        for (index, one) in names.iter().enumerate() {
            assert!(!names.iter().skip(index + 1).any(|other| other == one));
        }
    }

    #[test]
    fn a_retry_has_a_valid_name_that_follows_from_what_failed() {
        let long = "a".repeat(128);
        assert!(GroupName::new(&retry_name(&long, &[1; 32])).is_ok());
        assert_eq!(retry_name("run", &[1; 32]), "run:retry-0101010101010101");
        assert_ne!(retry_name("run", &[1; 32]), retry_name("run", &[2; 32]));
    }

    #[test]
    fn a_given_name_is_checked() {
        let defaults = LineDefaults::default();
        assert_eq!(group_name(Some("a:1"), &[0; 32], &defaults).unwrap(), "a:1");
        let error = group_name(Some("a b"), &[0; 32], &defaults).unwrap_err();
        assert_eq!(error.exit, ExitStatus::Usage);
    }
}
