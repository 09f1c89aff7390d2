//! Every job that the provider received, with its lines, as the provider stores them.

use std::collections::HashSet;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::bench::batches::provider_client::BenchProviderClient;
use crate::harness::sha256;
use crate::harness::{Result, SimulatorProcess, TrialAccount, TrialFailure, string_field};

/// The bytes of a line per token.
const BYTES_PER_TOKEN: u64 = 4;

#[derive(Debug)]
pub struct ProviderJob {
    /// The batch that the job was made from.
    pub batch: u128,
    pub created_at: DateTime<Utc>,
    pub ended_at: Option<DateTime<Utc>>,
    pub state: String,
    pub body: Bytes,
    pub lines: Vec<ProviderJobLine>,
}

/// One request, in the order in which it was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderJobLine {
    pub cargo: u128,
    /// The digest of its system prompt.
    pub prompt: String,
}

impl ProviderJob {
    pub fn bytes(&self) -> u64 {
        u64::try_from(self.body.len()).unwrap_or(u64::MAX)
    }

    /// Counted as in providers.toml.
    pub fn tokens(&self) -> u64 {
        self.bytes() / BYTES_PER_TOKEN
    }

    /// How often the prompt changes from line to line, and the number of different prompts.
    pub fn count_prompt_switches(&self) -> (usize, usize) {
        prompt_switches(&self.lines)
    }
}

fn prompt_switches(lines: &[ProviderJobLine]) -> (usize, usize) {
    let pairs = lines.iter().zip(lines.iter().skip(1));
    let switches = pairs.filter(|(one, next)| one.prompt != next.prompt);
    let prompts: HashSet<&str> = lines.iter().map(|line| line.prompt.as_str()).collect();
    (switches.count(), prompts.len())
}

/// All jobs of an account.
pub async fn read_jobs(
    simulator: &SimulatorProcess,
    account: &TrialAccount,
) -> Result<Vec<ProviderJob>> {
    let listed = simulator
        .call_admin("GET", &account.admin_path("jobs"), None)
        .await?;
    let listed = listed.as_array().cloned().unwrap_or_default();
    let provider = BenchProviderClient::new(simulator, account.name);
    let mut jobs = Vec::new();
    for one in listed {
        let batch = provider.fetch_batch(&string_field(&one, "id")?).await?;
        let body = provider
            .download_file(&string_field(&batch, "input_file_id")?)
            .await?;
        let lines = body.split(|byte| *byte == b'\n');
        let lines = lines.filter(|line| !line.is_empty()).map(parse_line);
        jobs.push(ProviderJob {
            batch: parse_id(&string_field(&one, "label")?)?,
            created_at: parse_timestamp(&one, "created_at")?,
            ended_at: parse_timestamp(&one, "ended_at").ok(),
            state: string_field(&one, "state")?,
            lines: lines.collect::<Result<_>>()?,
            body: body.clone(),
        });
    }
    Ok(jobs)
}

fn parse_timestamp(object: &Value, field: &str) -> Result<DateTime<Utc>> {
    let value = string_field(object, field)?;
    value
        .parse()
        .map_err(|error| TrialFailure::new(format!("{value}: {error}")))
}

fn parse_line(bytes: &[u8]) -> Result<ProviderJobLine> {
    let read: Value = serde_json::from_slice(bytes)
        .map_err(|error| TrialFailure::new(format!("a line is not JSON: {error}")))?;
    let first = read.pointer("/body/messages/0");
    let is_system = first.and_then(|it| it.get("role")).and_then(Value::as_str) != Some("user");
    let prompt = first.and_then(|it| it.get("content")).filter(|_| is_system);
    Ok(ProviderJobLine {
        cargo: parse_id(&string_field(&read, "custom_id")?)?,
        prompt: sha256::sha256_hex(
            prompt
                .map(ToString::to_string)
                .unwrap_or_default()
                .as_bytes(),
        ),
    })
}

/// The number in an id such as `crg_…-a1` or `bat_…`.
fn parse_id(name: &str) -> Result<u128> {
    let digits = name.split_once('_').map_or("", |(_, rest)| rest);
    let digits = digits.get(..32).unwrap_or_default();
    u128::from_str_radix(digits, 16).map_err(|error| TrialFailure::new(format!("{name}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_known_by_its_cargo_and_its_prompt() {
        let of = |system: &str| {
            let text = format!(
                r#"{{"custom_id":"crg_{:032x}-a1","body":{{"messages":[{{"role":"system","content":"{system}"}},{{"role":"user","content":"x"}}]}}}}"#,
                7
            );
            parse_line(text.as_bytes()).unwrap()
        };
        assert_eq!(of("a").cargo, 7);
        assert_eq!(of("a"), of("a"));
        assert_ne!(of("a"), of("b"));
        assert_eq!(prompt_switches(&[of("a"), of("a"), of("b")]), (1, 2));
        assert_eq!(prompt_switches(&[of("a"), of("b"), of("a")]), (2, 2));
    }
}
