//! While servers fail: asks for the tracking of cargo that was acknowledged.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::json;
use tokio::time::MissedTickBehavior;

use crate::harness::http::load_request;
use crate::harness::{ChaosCallers, HttpResponse, TrialVerdict};

const QUESTION_INTERVAL: Duration = Duration::from_millis(100);

/// How often tracking gave each answer.
#[derive(Debug, Default)]
pub struct TrackingAnswers(Mutex<BTreeMap<String, u64>>);

impl TrackingAnswers {
    fn count(&self, answer: String) {
        *self.0.lock().entry(answer).or_default() += 1;
    }

    /// Cargo that an asynchronous standby did not have is not found.
    pub fn judge(&self, may_be_lost: bool, verdict: &mut TrialVerdict) {
        let answers = self.0.lock();
        let is_allowed = |answer: &String| {
            matches!(answer.as_str(), "200" | "503") || may_be_lost && answer == "404"
        };
        verdict
            .record("tracking_answers", json!(*answers))
            .check("tracking answers", answers.contains_key("200"))
            .check(
                "tracking finds acknowledged cargo, or answers 503 with Retry-After",
                answers.keys().all(is_allowed),
            );
    }
}

/// Asks each process in turn for the newest cargo, until it is dropped.
pub async fn watch_tracking(callers: &ChaosCallers, answers: &TrackingAnswers) {
    let asking = callers.clients.iter().enumerate().map(|(place, client)| {
        let (callers, answers) = (callers, answers);
        async move {
            let mut ticks = tokio::time::interval(QUESTION_INTERVAL);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
            loop {
                ticks.tick().await;
                let Some(newest) = callers.load_log.newest_acknowledged() else {
                    continue;
                };
                let organization = callers.organizations.get(newest.source.organization);
                let Some((organization, cargo)) = organization.zip(newest.cargo) else {
                    continue;
                };
                let path = load_request::tracking_path(cargo);
                let sent = client.send(load_request::get(&path, organization)).await;
                answers.count(match sent {
                    Ok(answer) => describe(&answer),
                    Err(error) => format!("process {place}: {error}"),
                });
            }
        }
    });
    futures::future::join_all(asking).await;
}

fn describe(answer: &HttpResponse) -> String {
    if answer.status == 503 && answer.retry_after().is_none() {
        return "503 without Retry-After".to_owned();
    }
    answer.status.to_string()
}
