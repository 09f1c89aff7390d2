//! Cargo and a file whose contents have markers, until everything about them is stored.

use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::chaos::markers::marker::Markers;
use crate::chaos::markers::marker_receiver::MarkerReceiver;
use crate::chaos::neighbours::steady_load;
use crate::harness::build_profile;
use crate::harness::environment::base_environment::BaseEnvironment;
use crate::harness::environment::files_environment::FilesEnvironment;
use crate::harness::failure::{FailureContext as _, Result, TrialFailure};
use crate::harness::http::load_request;
use crate::harness::http::service_client::ServiceClient;
use crate::harness::longshored::config_files::TrialProviderAccount;
use crate::harness::polling::PollLimits;
use crate::harness::sample_files::upload_content::UploadContent;
use crate::harness::sample_files::{SampleFile, unique_hex};
use crate::harness::servers::simulator_process::SimulatorProcess;

/// The account whose answers repeat the question, and the account that rejects every job. Each has
/// a model of the same name.
const ANSWERING: &str = "answering";
const REJECTING: &str = "rejecting";
const ACCOUNT_LIMITS: &str = "linger_seconds = 1, grace_seconds = 12";
/// How long the answering account lets its first calls wait. Meanwhile the worker has the file of
/// the job open.
const STALL_SECONDS: u32 = build_profile::choose(3, 1);
const STALLED_CALLS: u32 = 2;
pub(super) const SETTLE_LIMITS: PollLimits =
    PollLimits::new(Duration::from_mins(1), Duration::from_millis(50));

/// Accounts at the simulator, for a service that is not started yet.
pub(super) fn set_accounts(base: &mut BaseEnvironment, simulator: &SimulatorProcess) -> Result<()> {
    let accounts = [ANSWERING, REJECTING].map(|name| TrialProviderAccount {
        name,
        kind: "openai",
        base_url: format!("http://{}/openai/v1", simulator.address),
        shard: None,
        limits: ACCOUNT_LIMITS.to_owned(),
        has_credential: true,
    });
    steady_load::set_accounts(base, &accounts)
}

/// What was loaded, as its callers name it.
#[derive(Debug)]
pub(super) struct MarkedRecords {
    /// The last one is rejected.
    pub cargo: Vec<u128>,
    pub group: String,
    pub file: String,
}

impl MarkedRecords {
    pub(super) fn cargo_ids(&self) -> Vec<Uuid> {
        self.cargo.iter().copied().map(Uuid::from_u128).collect()
    }
}

#[derive(Debug)]
pub(super) struct MarkedWork<'a> {
    pub environment: &'a FilesEnvironment,
    pub simulator: &'a SimulatorProcess,
    pub markers: &'a Markers,
    pub receiver: &'a MarkerReceiver,
    /// How many cargo are answered. One more is rejected.
    pub cargo: usize,
}

impl MarkedWork<'_> {
    /// Loads everything, and waits until every callback has been answered once.
    pub(super) async fn run(&self) -> Result<MarkedRecords> {
        self.set_faults().await?;
        let mut records = MarkedRecords {
            cargo: Vec::new(),
            group: self.create_group().await?,
            file: self.upload_file().await?,
        };
        for number in 0..self.cargo {
            let question = self.markers.question(number);
            let load = self.build_load(ANSWERING, &question, number, &records.group);
            records.cargo.push(self.load(load).await?);
        }
        let load = self.build_load(REJECTING, "Refuse this.", self.cargo, &records.group);
        records.cargo.push(self.load(load).await?);
        let expected = records.cargo.len();
        SETTLE_LIMITS
            .wait_until(|| self.receiver.count() >= expected)
            .await;
        self.wait_for_attempts(&records).await?;
        Ok(records)
    }

    async fn set_faults(&self) -> Result<()> {
        let stall = json!([{"name": "stall", "seconds": STALL_SECONDS, "times": STALLED_CALLS}]);
        let reject = json!([{"name": "validation_failed", "message": self.markers.provider_error}]);
        for (account, faults) in [(ANSWERING, stall), (REJECTING, reject)] {
            let path = format!("openai/{account}/faults");
            self.simulator
                .call_admin("PUT", &path, Some(&faults))
                .await?;
        }
        Ok(())
    }

    /// It is never sealed, so it is not called back. Its name makes a repeat the same group.
    async fn create_group(&self) -> Result<String> {
        let client = self.environment.first_client()?;
        let wanted = json!({
            "name": unique_hex(),
            "metadata": {"note": self.markers.group_metadata},
            "callback_url": format!("{}?token={}", self.receiver.url(), self.markers.group_url_query),
        });
        let create = async || Ok(client.send(Method::POST, "/groups", Some(&wanted)).await);
        let created = SETTLE_LIMITS.read_until(|it| !it.is_retryable(), create);
        let created = created.await?;
        let id = created.string_field("group_id");
        if id.is_empty() {
            let text = format!("a group was not created: {}", created.summary());
            return Err(TrialFailure::new(text));
        }
        Ok(id.to_owned())
    }

    fn build_load(&self, model: &str, question: &str, number: usize, group: &str) -> Value {
        json!({
            "params": {
                "model": model,
                "max_tokens": 64,
                "messages": [{"role": "user", "content": question}],
            },
            "metadata": {"note": self.markers.metadata},
            "callback_url": format!("{}?token={}", self.receiver.url(), self.markers.url_query),
            "group_id": group,
            "custom_id": format!("{} {number}", self.markers.custom_id),
        })
    }

    async fn load(&self, body: Value) -> Result<u128> {
        let organization = self.environment.service.first_organization()?;
        let client = ServiceClient::new(self.environment.service.server()?.address());
        let request = load_request::load(organization, body.to_string());
        let answer = client.send_load(request).await.context("loading")?;
        answer.cargo_id().ok_or_else(|| {
            let text = format!("a load was refused: {} {}", answer.status, answer.text());
            TrialFailure::new(text)
        })
    }

    async fn upload_file(&self) -> Result<String> {
        let client = self.environment.first_client()?;
        let content = UploadContent::from(SampleFile::nth(0));
        let declared: Value = json!({
            "filename": format!("{}.jpg", self.markers.filename),
            "media_type": content.media_type,
            "size_bytes": content.size,
            "sha256": content.sha256,
            "metadata": {"note": self.markers.file_metadata},
        });
        let begun = Instant::now();
        let created = client.send(Method::POST, "/files", Some(&declared)).await;
        let staged = client.stage_session(&created, begun, &content).await;
        let staged = staged.map_err(TrialFailure::new)?;
        let complete = async || Ok(staged.complete().await);
        let completed = SETTLE_LIMITS.read_until(|it| !it.is_retryable(), complete);
        let completed = completed.await?;
        if !matches!(completed.status, 200 | 202) {
            let text = format!("a file was not completed: {}", completed.summary());
            return Err(TrialFailure::new(text));
        }
        Ok(staged.file_id)
    }

    /// The answer of a receiver is stored after the callback.
    async fn wait_for_attempts(&self, records: &MarkedRecords) -> Result<()> {
        let pool = self.environment.service.first_shard()?;
        let (cargo, expected) = (records.cargo_ids(), records.cargo.len());
        let count = async || {
            let attempts = "select count(distinct cargo) from shard.attempt
                            where answer is not null and cargo = any($1)";
            let attempts = sqlx::query_scalar::<_, i64>(attempts).bind(&cargo);
            let attempts = attempts.fetch_one(pool).await;
            let attempts = attempts.context("counting callback attempts")?;
            Ok(usize::try_from(attempts).unwrap_or_default())
        };
        let counted = SETTLE_LIMITS
            .read_until(|count| *count >= expected, count)
            .await?;
        if counted < expected {
            let text = format!("{counted} of {expected} callbacks were recorded");
            return Err(TrialFailure::new(text));
        }
        Ok(())
    }
}
