//! Services with the API of `OpenAI` against the simulator, in the dialect of each.

use std::time::Duration;

use domain::model::ModelKind;
use domain::route::{ChatApi, InferenceMode, Route};
use outbound::provider::BatchItem;
use outbound::provider::batch_provider::{JobEndReason, JobStatus, ProviderJobRequest};
use outbound::provider::client::ProviderCallFailure;
use outbound::provider::item_result::ItemResult;
use outbound::provider::media::NoMedia;
use outbound::provider::openai::OpenAiService;
use outbound::provider::realtime::{OpenAiRealtime, RealtimeProvider as _};
use serde_json::json;
use simulator::{
    FaultName, Options, SimulatedFault, SimulatedProvider, SimulatedTier, Simulator, rule,
};
use tokio_rustls::rustls::RootCertStore;

use super::simulated::{BatchService, OPENAI_SERVICES, SimulatedBatchProvider, describe};
use super::{SECRET, TIMEOUTS, item, job_request, options, plain_route, spool};
use crate::support::LONG_TIMEOUT;

/// An account that answers one request at a time.
struct FlexAccount {
    simulator: Simulator,
    realtime: OpenAiRealtime,
}

impl FlexAccount {
    async fn start(service: BatchService, api: OpenAiService) -> Self {
        let simulator = Simulator::start(Options::manual()).await.unwrap();
        let options = options(&service.base_url(&simulator), TIMEOUTS);
        let roots = RootCertStore::empty();
        Self {
            realtime: OpenAiRealtime::for_service(options, roots, api).unwrap(),
            simulator,
        }
    }

    fn set_fault(&self, fault: SimulatedFault) {
        self.simulator
            .set_faults(SimulatedProvider::OpenAi, SECRET, vec![fault]);
    }

    async fn ask(&self, via: InferenceMode) -> Result<ItemResult, ProviderCallFailure> {
        self.realtime
            .complete_item(&item(1, "hello"), &plain_route(via), &NoMedia, LONG_TIMEOUT)
            .await
    }

    /// The tier that served a request, as its answer says.
    async fn served_tier(&self, via: InferenceMode) -> Option<InferenceMode> {
        let result = self.ask(via).await.unwrap();
        let expected = format!("{:?} EndTurn", rule::chat_text("hello"));
        assert!(describe(&result).starts_with(&expected), "{result:?}");
        let ItemResult::Answer(answer) = result else {
            unreachable!("{result:?}")
        };
        answer.tier
    }

    /// The status of the last call.
    fn last_status(&self) -> Option<u16> {
        let calls = self.simulator.calls(SimulatedProvider::OpenAi, SECRET);
        calls.last()?.status
    }
}

/// What a provider answers to a job of this kind.
async fn submit_job(
    stage: &SimulatedBatchProvider,
    api: ChatApi,
    kind: ModelKind,
) -> Result<Vec<(usize, String)>, ProviderCallFailure> {
    let route = Route {
        api,
        ..plain_route(InferenceMode::Batch)
    };
    let params = match kind {
        ModelKind::Chat => item(0, "hello").params,
        ModelKind::Embedding => {
            serde_json::from_value(json!({"model": "ours", "input_text": "hello"})).unwrap()
        }
    };
    let item = BatchItem {
        params,
        ..item(0, "")
    };
    let mut lines = spool().await;
    let line = stage.jobs.encode(&item, &route, &NoMedia).unwrap();
    lines.write(&line).await.unwrap();
    let order = ProviderJobRequest {
        api,
        kind,
        ..job_request(1)
    };
    let job = stage.submit_lines(order, &lines).await?;
    Ok(stage.finish(&job).await)
}

#[tokio::test]
async fn a_job_of_the_responses_api_runs_at_openai_and_azure() {
    for service in [BatchService::OpenAi, BatchService::Azure] {
        let stage = SimulatedBatchProvider::start(service).await;
        let found = submit_job(&stage, ChatApi::Responses, ModelKind::Chat).await;
        let found = found.unwrap();
        let expected = format!("{:?} EndTurn", rule::chat_text("hello"));
        assert_eq!(found.len(), 1, "{service}");
        assert!(found[0].1.starts_with(&expected), "{service} {found:?}");
    }
}

/// Why the preset says that Groq has neither.
#[tokio::test]
async fn groq_refuses_jobs_of_the_responses_api_and_of_embeddings() {
    for (api, kind) in [
        (ChatApi::Responses, ModelKind::Chat),
        (ChatApi::Completions, ModelKind::Embedding),
    ] {
        let stage = SimulatedBatchProvider::start(BatchService::Groq).await;
        let refused = submit_job(&stage, api, kind).await;
        assert!(
            matches!(
                refused,
                Err(ProviderCallFailure::Refused { status: 400, .. })
            ),
            "{api:?} {kind:?} {refused:?}"
        );
        assert_eq!(stage.created_jobs(), 0);
    }
}

#[tokio::test]
async fn a_job_that_makes_no_progress_expires_except_at_azure() {
    for (service, _) in OPENAI_SERVICES {
        let stage = SimulatedBatchProvider::with_faults(service, &[FaultName::Stuck]).await;
        let job = stage.submit(&["a"]).await.unwrap();
        let status = stage.final_status(&job).await;
        let as_expected = match service {
            BatchService::Azure => matches!(status, JobStatus::Running { .. }),
            BatchService::OpenAi
            | BatchService::Groq
            | BatchService::Anthropic
            | BatchService::Gemini => matches!(
                status,
                JobStatus::Ended {
                    end_reason: JobEndReason::Expired,
                    ..
                }
            ),
        };
        assert!(as_expected, "{service} {status:?}");
    }
}

#[tokio::test]
async fn flex_is_served_at_its_tier_or_at_the_full_price() {
    for (service, api) in OPENAI_SERVICES {
        let account = FlexAccount::start(service, api).await;
        account.realtime.check_health().await.unwrap();
        let flex = account.served_tier(InferenceMode::Flex).await;
        assert_eq!(flex, Some(InferenceMode::Flex), "{service}");
        account.set_fault(SimulatedFault::once(FaultName::FlexDowngrade));
        let downgraded = account.served_tier(InferenceMode::Flex).await;
        assert_eq!(downgraded, Some(InferenceMode::Realtime), "{service}");
        let bill = account.simulator.bill(SimulatedProvider::OpenAi, SECRET);
        let tiers: Vec<(SimulatedTier, u64)> =
            bill.iter().map(|line| (line.tier, line.requests)).collect();
        let expected = [(SimulatedTier::Flex, 1), (SimulatedTier::Standard, 1)];
        assert_eq!(tiers, expected, "{service}");
    }
}

#[tokio::test]
async fn a_lack_of_capacity_for_flex_is_told_from_a_rate_limit() {
    for (service, api) in OPENAI_SERVICES {
        let account = FlexAccount::start(service, api).await;
        let status = match service {
            BatchService::Groq => 498,
            BatchService::OpenAi
            | BatchService::Azure
            | BatchService::Anthropic
            | BatchService::Gemini => 429,
        };
        account.set_fault(SimulatedFault::new(FaultName::FlexUnavailable).seconds(7));
        let no_capacity = ProviderCallFailure::NoCapacity {
            retry_after: Some(Duration::from_secs(7)),
        };
        assert_eq!(account.ask(InferenceMode::Flex).await, Err(no_capacity));
        assert_eq!(account.last_status(), Some(status), "{service}");
        // Other requests have capacity.
        account.served_tier(InferenceMode::Realtime).await;

        account.set_fault(SimulatedFault::new(FaultName::Rpm).limit(0));
        for via in [InferenceMode::Flex, InferenceMode::Realtime] {
            let refused = account.ask(via).await;
            assert!(
                matches!(refused, Err(ProviderCallFailure::RateLimited { .. })),
                "{service} {via:?} {refused:?}"
            );
        }
        let bill = account.simulator.bill(SimulatedProvider::OpenAi, SECRET);
        let requests: u64 = bill.iter().map(|line| line.requests).sum();
        assert_eq!(requests, 1, "{service}: a refused request is not billed");
    }
}
