//! What the provider was given: every job with its lines, as the provider has them.

use std::collections::HashSet;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::bench::batches::provider::{Provider, text};
use crate::digest;
use crate::failure::{Failure, Result};
use crate::fleet::accounts::Account;
use crate::simulator::Simulator;

/// A token is about so many bytes of a line.
const BYTES_PER_TOKEN: u64 = 4;

#[derive(Debug)]
pub struct Job {
    /// The batch that it was made of.
    pub batch: u128,
    pub created_at: DateTime<Utc>,
    pub ended_at: Option<DateTime<Utc>>,
    pub state: String,
    pub body: Bytes,
    pub lines: Vec<Line>,
}

/// One request, in the order in which it was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub cargo: u128,
    /// The digest of its system prompt.
    pub prompt: String,
}

impl Job {
    pub fn bytes(&self) -> u64 {
        u64::try_from(self.body.len()).unwrap_or(u64::MAX)
    }

    /// As providers.toml counts them.
    pub fn tokens(&self) -> u64 {
        self.bytes() / BYTES_PER_TOKEN
    }

    /// How often the prompt is another one than in the line before, and how many there are.
    pub fn switches(&self) -> (usize, usize) {
        switches(&self.lines)
    }
}

fn switches(lines: &[Line]) -> (usize, usize) {
    let pairs = lines.iter().zip(lines.iter().skip(1));
    let switches = pairs.filter(|(one, next)| one.prompt != next.prompt);
    let prompts: HashSet<&str> = lines.iter().map(|line| line.prompt.as_str()).collect();
    (switches.count(), prompts.len())
}

/// All jobs of an account.
pub async fn survey(simulator: &Simulator, account: &Account) -> Result<Vec<Job>> {
    let listed = simulator.ask("GET", &account.path("jobs"), None).await?;
    let listed = listed.as_array().cloned().unwrap_or_default();
    let provider = Provider::new(simulator, account.name);
    let mut jobs = Vec::new();
    for one in listed {
        let batch = provider.batch(&text(&one, "id")?).await?;
        let body = provider.content(&text(&batch, "input_file_id")?).await?;
        let lines = body.split(|byte| *byte == b'\n');
        let lines = lines.filter(|line| !line.is_empty()).map(line);
        jobs.push(Job {
            batch: id_of(&text(&one, "label")?)?,
            created_at: moment(&one, "created_at")?,
            ended_at: moment(&one, "ended_at").ok(),
            state: text(&one, "state")?,
            lines: lines.collect::<Result<_>>()?,
            body: body.clone(),
        });
    }
    Ok(jobs)
}

fn moment(object: &Value, field: &str) -> Result<DateTime<Utc>> {
    let told = text(object, field)?;
    told.parse()
        .map_err(|error| Failure::new(format!("{told}: {error}")))
}

fn line(bytes: &[u8]) -> Result<Line> {
    let read: Value = serde_json::from_slice(bytes)
        .map_err(|error| Failure::new(format!("a line is no JSON: {error}")))?;
    let first = read.pointer("/body/messages/0");
    let is_system = first.and_then(|it| it.get("role")).and_then(Value::as_str) != Some("user");
    let prompt = first.and_then(|it| it.get("content")).filter(|_| is_system);
    Ok(Line {
        cargo: id_of(&text(&read, "custom_id")?)?,
        prompt: digest::hex_of(
            prompt
                .map(ToString::to_string)
                .unwrap_or_default()
                .as_bytes(),
        ),
    })
}

/// The number in a name such as `crg_…-a1` or `bat_…`.
fn id_of(name: &str) -> Result<u128> {
    let digits = name.split_once('_').map_or("", |(_, rest)| rest);
    let digits = digits.get(..32).unwrap_or_default();
    u128::from_str_radix(digits, 16).map_err(|error| Failure::new(format!("{name}: {error}")))
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
            line(text.as_bytes()).unwrap()
        };
        assert_eq!(of("a").cargo, 7);
        assert_eq!(of("a"), of("a"));
        assert_ne!(of("a"), of("b"));
        assert_eq!(switches(&[of("a"), of("a"), of("b")]), (1, 2));
        assert_eq!(switches(&[of("a"), of("b"), of("a")]), (2, 2));
    }
}
