//! `longshore estimate FILE`: what the requests of a file will cost, by the service's estimate.

use std::path::{Path, PathBuf};

use bytes::{BufMut as _, Bytes, BytesMut};
use clap::Args;
use client::{LongshoreClient, canonical_json};
use serde_json::{Value, json};

use crate::cli_error::{CliError, CliResult};
use crate::exit_status::ExitStatus;
use crate::numbers::{dollars, duration, group_digits};
use crate::requests::request_file::RequestReader;
use crate::requests::request_line::LineDefaults;
use crate::session::Session;

/// The service takes 1,000 items and 10 MB in one request.
const MAX_ESTIMATE_ITEMS: usize = 1_000;
const MAX_ESTIMATE_BYTES: usize = 4 * 1024 * 1024;
const MAX_SHOWN_FAULTS: usize = 20;

#[derive(Debug, Clone, Args)]
pub struct EstimateOptions {
    /// One request per line.
    pub file: PathBuf,
    #[command(flatten)]
    pub defaults: LineDefaults,
}

/// Sums over the estimates of all parts of a file, in nano-dollars.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FileEstimate {
    pub requests: u64,
    /// Positions of requests that the service would refuse, with its answer.
    pub faults: Vec<(u64, Value)>,
    pub hold: u64,
    /// None as long as the service has not measured enough.
    pub likely: Option<u64>,
    pub low: Option<u64>,
    pub high: Option<u64>,
    pub p90_seconds: Option<u64>,
    pub loading_seconds: u64,
    pub refused_by: Option<String>,
}

/// Lines that are estimated together, with their positions.
#[derive(Default)]
struct EstimateChunk {
    body: BytesMut,
    positions: Vec<u64>,
}

pub async fn run(session: &Session, options: &EstimateOptions) -> CliResult<ExitStatus> {
    let client = session.client()?;
    let estimate = estimate_file(&client, &options.file, &options.defaults).await?;
    session
        .printer
        .result(&estimate.to_json(), |_| estimate.render())?;
    Ok(if estimate.faults.is_empty() {
        ExitStatus::Done
    } else {
        ExitStatus::SomeItemsFailed
    })
}

/// Estimates all lines without faults.
pub async fn estimate_file(
    client: &LongshoreClient,
    file: &Path,
    defaults: &LineDefaults,
) -> CliResult<FileEstimate> {
    let mut reader = RequestReader::open(file, defaults)?;
    let mut estimate = FileEstimate {
        likely: Some(0),
        low: Some(0),
        high: Some(0),
        ..FileEstimate::default()
    };
    let mut chunk = EstimateChunk::default();
    while let Some(numbered) = reader.next_request()? {
        let Ok(request) = numbered.request else {
            continue;
        };
        let line = canonical_json::to_bytes(&Value::Object(request.load));
        let is_full = chunk.positions.len() >= MAX_ESTIMATE_ITEMS
            || chunk.body.len() + line.len() > MAX_ESTIMATE_BYTES;
        if is_full && !chunk.positions.is_empty() {
            send(client, std::mem::take(&mut chunk), &mut estimate).await?;
        }
        chunk.body.put_slice(&line);
        chunk.body.put_u8(b'\n');
        chunk.positions.push(numbered.position);
    }
    if !chunk.positions.is_empty() {
        send(client, chunk, &mut estimate).await?;
    }
    if estimate.requests == 0 {
        let message = format!("{} has no request without faults.", file.display());
        return Err(CliError::new(ExitStatus::Failed, "no_requests", message));
    }
    Ok(estimate)
}

async fn send(
    client: &LongshoreClient,
    chunk: EstimateChunk,
    estimate: &mut FileEstimate,
) -> CliResult<()> {
    let body: Bytes = chunk.body.freeze();
    let answer = client.estimate(body).await?;
    estimate.add(&answer, &chunk.positions);
    Ok(())
}

impl FileEstimate {
    /// Adds the estimate of the requests at these positions.
    fn add(&mut self, answer: &Value, positions: &[u64]) {
        let number = |pointer: &str| answer.pointer(pointer).and_then(Value::as_u64);
        let plus = |sum: Option<u64>, pointer: &str| Some(sum?.saturating_add(number(pointer)?));
        self.requests += u64::try_from(positions.len()).unwrap_or_default();
        self.hold = self
            .hold
            .saturating_add(number("/hold/amount").unwrap_or(0));
        self.likely = plus(self.likely, "/cost/likely");
        self.low = plus(self.low, "/cost/low");
        self.high = plus(self.high, "/cost/high");
        self.p90_seconds = self.p90_seconds.max(number("/turnaround/p90_seconds"));
        self.loading_seconds = self
            .loading_seconds
            .saturating_add(number("/turnaround/loading_seconds").unwrap_or(0));
        let refused_by = answer.get("refused_by").and_then(Value::as_str);
        self.refused_by = refused_by.map(str::to_owned).or(self.refused_by.take());
        let faults = answer.get("faults").and_then(Value::as_array);
        for fault in faults.into_iter().flatten() {
            let index = fault.get("index").and_then(Value::as_u64);
            let index = index.and_then(|index| usize::try_from(index).ok());
            let position = index.and_then(|index| positions.get(index)).copied();
            self.faults
                .push((position.unwrap_or_default(), fault.clone()));
        }
    }

    pub fn to_json(&self) -> Value {
        let faults: Vec<Value> = self
            .faults
            .iter()
            .map(|(position, fault)| {
                json!({
                    "position": position,
                    "status": fault.get("status"),
                    "detail": fault.get("detail"),
                })
            })
            .collect();
        json!({
            "requests": self.requests,
            "faults": faults,
            "hold": self.hold,
            "cost": {"low": self.low, "likely": self.likely, "high": self.high},
            "p90_seconds": self.p90_seconds,
            "loading_seconds": self.loading_seconds,
            "refused_by": self.refused_by,
            "currency": "USD",
            "scale": 9,
        })
    }

    pub fn render(&self) -> String {
        let mut lines = vec![format!("requests  {}", group_digits(self.requests))];
        lines.push(match (self.likely, self.low, self.high) {
            (Some(likely), Some(low), Some(high)) => format!(
                "cost      about {} ({} to {})",
                dollars(likely),
                dollars(low),
                dollars(high)
            ),
            (Some(likely), _, _) => format!("cost      about {}", dollars(likely)),
            (None, _, _) => "cost      not measured yet, at most the hold".to_owned(),
        });
        lines.push(format!("hold      {}", dollars(self.hold)));
        if let Some(seconds) = self.p90_seconds {
            let time = duration(std::time::Duration::from_secs(seconds));
            lines.push(format!("answers   90 % within {time} after loading"));
        }
        if self.loading_seconds > 0 {
            let time = duration(std::time::Duration::from_secs(self.loading_seconds));
            lines.push(format!("loading   about {time}, by the plan's rate"));
        }
        if let Some(code) = &self.refused_by {
            lines.push(format!("refused   now, by {code}"));
        }
        for (position, fault) in self.faults.iter().take(MAX_SHOWN_FAULTS) {
            let detail = fault.get("detail").unwrap_or(&Value::Null);
            lines.push(format!("request {}: {detail}", position + 1));
        }
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up() {
        let part = json!({
            "items": 2,
            "faults": [{"index": 1, "status": 422, "detail": "no"}],
            "hold": {"amount": 50},
            "cost": {"low": 1, "likely": 2, "high": 3, "most": 50},
            "turnaround": {"p90_seconds": 60, "loading_seconds": 5},
            "refused_by": null,
        });
        let mut estimate = FileEstimate {
            likely: Some(0),
            low: Some(0),
            high: Some(0),
            ..FileEstimate::default()
        };
        estimate.add(&part, &[4, 9]);
        estimate.add(&part, &[10, 11]);
        assert_eq!((estimate.hold, estimate.likely), (100, Some(4)));
        assert_eq!(estimate.loading_seconds, 10);
        let positions: Vec<u64> = estimate.faults.iter().map(|(it, _)| *it).collect();
        assert_eq!(positions, [9, 11]);
        let unmeasured = json!({"hold": {"amount": 1}, "cost": {"likely": null}});
        estimate.add(&unmeasured, &[12]);
        assert_eq!((estimate.hold, estimate.likely), (101, None));
    }
}
