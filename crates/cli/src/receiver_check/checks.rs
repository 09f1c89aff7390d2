//! The checks of a receiver, one row each.

use std::time::Duration;

use bytes::Bytes;
use http::Uri;
use http::uri::Scheme;
use serde_json::Value;
use tokio::task::JoinSet;

use crate::receiver_check::payloads;
use crate::receiver_check::probe::{ProbeAnswer, ProbeSignature, ReceiverProbe};

/// A receiver that takes longer does its work before it answers.
const SLOW_ANSWER: Duration = Duration::from_secs(5);
const CONCURRENT_REPEATS: usize = 10;
const CONCURRENT_CALLBACKS: usize = 50;
const STORE_FIRST: &str = "Store the callback, answer 2xx, then work on it.";
const DEDUPLICATE: &str =
    "Remember cargo_id: callbacks come more than once, and 2xx must be the answer each time.";
const VERIFY: &str =
    "Verify webhook-signature over the raw bytes of the body, and answer 4xx if it is wrong.";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckOutcome {
    Passed,
    Warning,
    Failed,
    Skipped,
}

/// One row of the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckRow {
    pub name: String,
    pub outcome: CheckOutcome,
    pub detail: String,
    /// What to change, if something is wrong.
    pub fix: &'static str,
}

impl CheckOutcome {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "ok",
            Self::Warning => "warning",
            Self::Failed => "FAILED",
            Self::Skipped => "skipped",
        }
    }
}

/// Runs all checks in turn.
#[derive(Debug)]
pub struct ReceiverChecks {
    probe: ReceiverProbe,
    effect_url: Option<Uri>,
    next: u64,
    rows: Vec<CheckRow>,
}

impl ReceiverChecks {
    pub const fn new(probe: ReceiverProbe, effect_url: Option<Uri>) -> Self {
        Self {
            probe,
            effect_url,
            next: 0,
            rows: Vec::new(),
        }
    }

    pub async fn run(mut self) -> Vec<CheckRow> {
        self.check_scheme();
        if !self.check_payloads().await {
            return self.rows;
        }
        self.check_duplicates().await;
        self.check_signatures().await;
        self.check_unusual().await;
        self.check_slow().await;
        self.check_not_expected().await;
        self.check_get().await;
        self.check_many_at_once().await;
        self.rows
    }

    /// An id that no cargo has: its time is that of this check.
    fn next_id(&mut self) -> String {
        self.next += 1;
        format!("crg_{:016x}{:016x}", self.probe.now, self.next)
    }

    fn add(&mut self, name: &str, outcome: CheckOutcome, detail: String, fix: &'static str) {
        self.rows.push(CheckRow {
            name: name.to_owned(),
            outcome,
            detail,
            fix,
        });
    }

    fn check_scheme(&mut self) {
        if self.probe.url.scheme() == Some(&Scheme::HTTPS) {
            let detail = "verified with the roots of this machine".to_owned();
            self.add("TLS", CheckOutcome::Passed, detail, "");
        } else {
            let detail = "plain http".to_owned();
            let fix = "In production, callbacks are sent over https only.";
            self.add("TLS", CheckOutcome::Warning, detail, fix);
        }
    }

    async fn post(&self, id: &str, payload: &Value, signature: ProbeSignature) -> ProbeAnswer {
        let body = Bytes::from(payload.to_string());
        self.probe.post(id, body, signature).await
    }

    /// False if the receiver cannot be reached at all.
    async fn check_payloads(&mut self) -> bool {
        type Build = fn(&str) -> Value;
        let kinds: [(&str, Build); 3] = [
            ("success", |id| payloads::success(id, "Hello")),
            ("failure", payloads::failure),
            ("embedding", payloads::embedding),
        ];
        for (name, build) in kinds {
            let id = self.next_id();
            let answer = self.post(&id, &build(&id), ProbeSignature::Right).await;
            self.add_acknowledged(name, &answer);
            if answer.status.is_err() {
                return false;
            }
        }
        true
    }

    fn add_acknowledged(&mut self, name: &str, answer: &ProbeAnswer) {
        let is_redirect = answer
            .status
            .as_ref()
            .is_ok_and(|it| (300..400).contains(it));
        let (outcome, fix) = if is_redirect {
            (
                CheckOutcome::Failed,
                "Give the final address: redirects are not followed.",
            )
        } else if !answer.is_success() {
            (CheckOutcome::Failed, "Answer 2xx within 30 s.")
        } else if answer.latency > SLOW_ANSWER {
            (CheckOutcome::Warning, STORE_FIRST)
        } else {
            (CheckOutcome::Passed, "")
        };
        self.add(name, outcome, answer.describe(), fix);
    }

    async fn check_duplicates(&mut self) {
        let before = self.read_effect().await;
        let id = self.next_id();
        let payload = payloads::success(&id, "once");
        let mut answers = Vec::new();
        for _ in 0..2 {
            answers.push(self.post(&id, &payload, ProbeSignature::Right).await);
        }
        answers.extend(
            self.post_at_once(CONCURRENT_REPEATS, |_| (id.clone(), payload.clone()))
                .await,
        );
        let refused = answers.iter().find(|answer| !answer.is_success());
        if let Some(answer) = refused {
            let detail = answer.describe();
            self.add("duplicates", CheckOutcome::Failed, detail, DEDUPLICATE);
        } else {
            let detail = format!("{} of {} acknowledged", answers.len(), answers.len());
            self.add("duplicates", CheckOutcome::Passed, detail, "");
        }
        let after = self.read_effect().await;
        if self.effect_url.is_none() {
            let detail = "no --effect-url".to_owned();
            self.add("handled once", CheckOutcome::Skipped, detail, "");
            return;
        }
        let rise = before
            .zip(after)
            .and_then(|(before, after)| after.checked_sub(before));
        match rise {
            Some(1) => self.add(
                "handled once",
                CheckOutcome::Passed,
                "rose by 1".to_owned(),
                "",
            ),
            Some(count) => {
                let detail = format!("rose by {count}");
                self.add("handled once", CheckOutcome::Failed, detail, DEDUPLICATE);
            }
            None => {
                let detail = "the page shows no number".to_owned();
                let fix = "--effect-url shows a number that rises with each handled callback.";
                self.add("handled once", CheckOutcome::Failed, detail, fix);
            }
        }
    }

    async fn read_effect(&self) -> Option<u64> {
        self.probe.read_number(self.effect_url.as_ref()?).await
    }

    async fn check_signatures(&mut self) {
        let wrong = [
            ("signature wrong", ProbeSignature::Wrong),
            ("signature missing", ProbeSignature::Missing),
            ("body changed", ProbeSignature::OtherBody),
            ("timestamp 10 min old", ProbeSignature::Old),
        ];
        if self.probe.secret.is_none() {
            let detail = "no --secret-env".to_owned();
            self.add("signatures", CheckOutcome::Skipped, detail, "");
            return;
        }
        for (name, signature) in wrong {
            let id = self.next_id();
            let answer = self
                .post(&id, &payloads::success(&id, "forged"), signature)
                .await;
            let is_refused = answer
                .status
                .as_ref()
                .is_ok_and(|it| (400..500).contains(it));
            let outcome = if is_refused {
                CheckOutcome::Passed
            } else {
                CheckOutcome::Failed
            };
            self.add(name, outcome, answer.describe(), VERIFY);
        }
        let id = self.next_id();
        let payload = payloads::success(&id, "rotated");
        let answer = self.post(&id, &payload, ProbeSignature::Rotated).await;
        let outcome = if answer.is_success() {
            CheckOutcome::Passed
        } else {
            CheckOutcome::Failed
        };
        let fix =
            "Accept the callback if any of the v1 tokens is right, and ignore other versions.";
        self.add("rotated secrets", outcome, answer.describe(), fix);
    }

    async fn check_unusual(&mut self) {
        let mut ids = Vec::new();
        for _ in 0..16 {
            ids.push(self.next_id());
        }
        let mut ids = ids.into_iter();
        let list = payloads::unusual(&mut || ids.next().unwrap_or_default());
        for (name, id, payload) in list {
            let answer = self.post(&id, &payload, ProbeSignature::Right).await;
            let outcome = if answer.is_success() {
                CheckOutcome::Passed
            } else {
                CheckOutcome::Failed
            };
            let fix = "Take any JSON of the documented form, up to 8 MB and with new fields.";
            self.add(name, outcome, answer.describe(), fix);
        }
    }

    async fn check_slow(&mut self) {
        let id = self.next_id();
        let body = Bytes::from(payloads::success(&id, "slow").to_string());
        let answer = self.probe.post_slowly(&id, body).await;
        let outcome = if answer.is_success() {
            CheckOutcome::Passed
        } else {
            CheckOutcome::Failed
        };
        let fix = "Read the body to its end: over a slow network it arrives in pieces.";
        self.add("slow", outcome, answer.describe(), fix);
    }

    /// Callbacks that a receiver may refuse, but that must not break it.
    async fn check_not_expected(&mut self) {
        let group = self.next_id().replacen("crg_", "grp_", 1);
        let cases = [
            (
                "unknown cargo_id",
                "crg_ffffffffffffffffffffffffffffffff".to_owned(),
                payloads::success("crg_ffffffffffffffffffffffffffffffff", "foreign"),
                "Answer 2xx or 4xx to a cargo_id that you do not know.",
            ),
            (
                "completed group",
                group.clone(),
                payloads::group_completed(&group),
                "Answer 2xx, or 4xx if no group has this callback_url: such callbacks have a type.",
            ),
        ];
        for (name, id, payload, fix) in cases {
            let answer = self.post(&id, &payload, ProbeSignature::Right).await;
            let is_refusal = answer
                .status
                .as_ref()
                .is_ok_and(|it| (400..500).contains(it));
            let outcome = if answer.is_success() || is_refusal {
                CheckOutcome::Passed
            } else {
                CheckOutcome::Failed
            };
            self.add(name, outcome, answer.describe(), fix);
        }
    }

    async fn check_get(&mut self) {
        let url = self.probe.url.clone();
        let answer = self.probe.get(&url).await;
        let outcome = if answer.is_success() {
            CheckOutcome::Warning
        } else {
            CheckOutcome::Passed
        };
        let fix = "Take POST only: a page at this address hides mistakes.";
        self.add("GET", outcome, answer.describe(), fix);
    }

    async fn check_many_at_once(&mut self) {
        let first = self.next;
        self.next += CONCURRENT_CALLBACKS as u64;
        let now = self.probe.now;
        let answers = self
            .post_at_once(CONCURRENT_CALLBACKS, |index| {
                let id = format!("crg_{now:016x}{:016x}", first + 1 + index as u64);
                let payload = payloads::success(&id, "many");
                (id, payload)
            })
            .await;
        let refused = answers.iter().filter(|answer| !answer.is_success()).count();
        let mut latencies: Vec<Duration> = answers.iter().map(|it| it.latency).collect();
        latencies.sort_unstable();
        let p95 = latencies.get(latencies.len() * 95 / 100).copied();
        let p95 = p95.unwrap_or_default();
        let outcome = if refused > 0 || p95 > SLOW_ANSWER {
            CheckOutcome::Failed
        } else {
            CheckOutcome::Passed
        };
        let detail = format!("p95 {} ms, {refused} refused", p95.as_millis());
        self.add("50 at once", outcome, detail, STORE_FIRST);
    }

    async fn post_at_once(
        &self,
        count: usize,
        build: impl Fn(usize) -> (String, Value),
    ) -> Vec<ProbeAnswer> {
        let mut tasks = JoinSet::new();
        for index in 0..count {
            let (id, payload) = build(index);
            let probe = self.probe.clone();
            tasks.spawn(async move {
                let body = Bytes::from(payload.to_string());
                probe.post(&id, body, ProbeSignature::Right).await
            });
        }
        tasks.join_all().await
    }
}

#[cfg(test)]
mod tests;
