//! Gemini without a batch: one request per call, by the flex or the standard tier.

use std::collections::BTreeSet;
use std::time::Duration;

use async_trait::async_trait;
use domain::file::MediaType;
use domain::model::ModelKind;
use domain::route::{InferenceMode, Route};
use serde::Deserialize;
use tokio_rustls::rustls::RootCertStore;

use super::{KEY_HEADER, request_body, response};
use crate::percent_encoding::{percent_encode, percent_encode_path};
use crate::provider::BatchItem;
use crate::provider::client::{
    AuthScheme, ProviderCallFailure, ProviderClient, ProviderOptions, ProviderRequestBody,
    ProviderResponse, ProviderSetupFailure, RetrySafety,
};
use crate::provider::item_result::ItemResult;
use crate::provider::media::{MediaForm, MediaSource};
use crate::provider::realtime::RealtimeProvider;

/// Names the tier that served a request, where the body does not.
const TIER_HEADER: &str = "x-gemini-service-tier";

/// A longer list is a fault of the provider.
const MAX_MODEL_PAGES: usize = 20;

#[derive(Debug)]
pub struct GeminiRealtime {
    client: ProviderClient,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ModelPage {
    #[serde(default)]
    models: Vec<ListedModel>,
    #[serde(default)]
    next_page_token: Option<String>,
}

#[derive(Debug, Deserialize)]
struct ListedModel {
    /// With the prefix `models/`.
    name: String,
}

impl GeminiRealtime {
    /// The base URL has no path: `https://generativelanguage.googleapis.com`.
    pub fn new(
        options: ProviderOptions,
        roots: RootCertStore,
    ) -> Result<Self, ProviderSetupFailure> {
        let client = ProviderClient::new(options, AuthScheme::Header(KEY_HEADER), &[], roots)?;
        Ok(Self { client })
    }

    async fn fetch_models(
        &self,
        page_size: u32,
        page_token: Option<&str>,
    ) -> Result<ModelPage, ProviderCallFailure> {
        let token = page_token.map(|token| format!("&pageToken={}", percent_encode(token)));
        let token = token.unwrap_or_default();
        let path = format!("/v1beta/models?pageSize={page_size}{token}");
        let (page, _) = self.client.send_and_parse(self.client.get(path)).await?;
        Ok(page)
    }
}

#[async_trait]
impl RealtimeProvider for GeminiRealtime {
    async fn complete_item(
        &self,
        item: &BatchItem,
        route: &Route,
        media: &dyn MediaSource,
        within: Duration,
    ) -> Result<ItemResult, ProviderCallFailure> {
        let body = match request_body::encode(&item.params, route, media) {
            Ok(body) => ProviderRequestBody::json(&body),
            Err(unsupported) => return Ok(ItemResult::failure(unsupported.0)),
        };
        let verb = match item.params.kind() {
            ModelKind::Chat => "generateContent",
            ModelKind::Embedding => "embedContent",
        };
        let model = percent_encode_path(&route.upstream_model);
        let path = format!("/v1beta/models/{model}:{verb}");
        let call = self.client.post(path, body, RetrySafety::MayBillIfLost);
        let mut call = call.with_caller_input();
        if route.via == InferenceMode::Flex {
            call = call.for_flex();
        }
        call.timeout = within;
        match self.client.send(call).await {
            Ok(answer) => Ok(parse_answer(&answer, item)),
            Err(failure) => ItemResult::from_call_failure(failure),
        }
    }

    fn media_form(&self, media_type: MediaType) -> MediaForm {
        MediaForm::Bytes.or_text(media_type)
    }

    async fn check_health(&self) -> Result<(), ProviderCallFailure> {
        self.fetch_models(1, None).await.map(|_| ())
    }

    async fn list_models(&self) -> Result<BTreeSet<String>, ProviderCallFailure> {
        let mut names = BTreeSet::new();
        let mut token: Option<String> = None;
        for _ in 0..MAX_MODEL_PAGES {
            let page = self.fetch_models(1000, token.as_deref()).await?;
            names.extend(page.models.into_iter().map(|model| {
                let name = model.name;
                name.strip_prefix("models/").unwrap_or(&name).to_owned()
            }));
            token = page.next_page_token.filter(|token| !token.is_empty());
            if token.is_none() {
                return Ok(names);
            }
        }
        Err(ProviderCallFailure::UnreadableResponse)
    }
}

fn parse_answer(answer: &ProviderResponse, item: &BatchItem) -> ItemResult {
    let Ok(body) = serde_json::from_slice(&answer.body) else {
        return ItemResult::retry("the response cannot be parsed");
    };
    let mut result = response::parse(body, item.key());
    let header = answer.header(TIER_HEADER).and_then(response::parse_tier);
    result.set_tier(result.tier().or(header));
    result
}
