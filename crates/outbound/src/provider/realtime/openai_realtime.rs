//! The `OpenAI` API, one request per call: self-hosted servers, `OpenAI`, and services like it.

use std::collections::BTreeSet;
use std::time::Duration;

use async_trait::async_trait;
use domain::file::MediaType;
use domain::route::{InferenceMode, Route};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio_rustls::rustls::RootCertStore;

use super::RealtimeProvider;
use crate::provider::BatchItem;
use crate::provider::client::{
    AuthScheme, ProviderCallFailure, ProviderClient, ProviderOptions, ProviderRequestBody,
    ProviderSetupFailure, RetrySafety,
};
use crate::provider::item_key::ItemKey;
use crate::provider::item_result::ItemResult;
use crate::provider::media::{MediaForm, MediaSource};
use crate::provider::openai::OpenAiService;
use crate::provider::openai_compatible::{self, ServerDialect};

#[derive(Debug)]
pub struct OpenAiRealtime {
    /// For paths below `/v1`.
    client: ProviderClient,
    /// For paths without the version, such as `/health`.
    root_client: ProviderClient,
    dialect: ServerDialect,
}

impl OpenAiRealtime {
    /// The base URL ends in the version, as is usual for such servers: `http://host:8000/v1`.
    pub fn new(
        options: ProviderOptions,
        roots: RootCertStore,
        dialect: ServerDialect,
    ) -> Result<Self, ProviderSetupFailure> {
        Self::with_auth(options, roots, dialect, AuthScheme::Bearer)
    }

    /// A service with the batch API of `OpenAI`.
    pub fn for_service(
        options: ProviderOptions,
        roots: RootCertStore,
        service: OpenAiService,
    ) -> Result<Self, ProviderSetupFailure> {
        Self::with_auth(options, roots, service.dialect, service.auth_scheme())
    }

    fn with_auth(
        options: ProviderOptions,
        roots: RootCertStore,
        dialect: ServerDialect,
        auth: AuthScheme,
    ) -> Result<Self, ProviderSetupFailure> {
        let mut root = options.clone();
        let path = options.base_url.path().trim_end_matches('/');
        root.base_url
            .set_path(path.strip_suffix("/v1").unwrap_or(path));
        Ok(Self {
            client: ProviderClient::new(options, auth, &[], roots.clone())?,
            root_client: ProviderClient::new(root, auth, &[], roots)?,
            dialect,
        })
    }

    /// Sends a request body and reads the answer.
    pub(super) async fn send(
        &self,
        path: &str,
        body: Map<String, Value>,
        key: ItemKey,
        how: SendOptions,
    ) -> Result<ItemResult, ProviderCallFailure> {
        let retry_safety = if self.dialect.is_self_hosted() {
            RetrySafety::Safe
        } else {
            RetrySafety::MayBillIfLost
        };
        let body = ProviderRequestBody::json(&Value::Object(body));
        let request = self.client.post(path, body, retry_safety);
        let mut request = request.with_caller_input();
        request.timeout = how.within;
        if how.is_flex {
            request = request.for_flex();
        }
        // Identifies the item in the server's log.
        let request = request.header("x-request-id", key.to_string());
        match self.client.send(request).await {
            Ok(answer) => Ok(match std::str::from_utf8(&answer.body) {
                Ok(body) => openai_compatible::parse_response(body, key),
                Err(_) => openai_compatible::unreadable_response(),
            }),
            Err(failure) => ItemResult::from_call_failure(failure),
        }
    }
}

/// How a request is sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct SendOptions {
    pub(super) is_flex: bool,
    pub(super) within: Duration,
}

#[async_trait]
impl RealtimeProvider for OpenAiRealtime {
    async fn complete_item(
        &self,
        item: &BatchItem,
        route: &Route,
        media: &dyn MediaSource,
        within: Duration,
    ) -> Result<ItemResult, ProviderCallFailure> {
        let body = openai_compatible::request_body(item, route, media, self.dialect);
        let mut body = match body {
            Ok(body) => body,
            Err(unsupported) => return Ok(ItemResult::failure(unsupported.0)),
        };
        let is_flex = route.via == InferenceMode::Flex;
        if is_flex {
            body.insert("service_tier".to_owned(), json!("flex"));
        }
        let path = openai_compatible::endpoint_path(item.params.kind(), route.api);
        let call = SendOptions { is_flex, within };
        self.send(path, body, item.key(), call).await
    }

    fn media_form(&self, media_type: MediaType) -> MediaForm {
        openai_compatible::media_form(media_type, self.dialect)
    }

    /// Checks `/health` of a self-hosted server, or the model list where there is no `/health`.
    async fn check_health(&self) -> Result<(), ProviderCallFailure> {
        if self.dialect.is_self_hosted() {
            match self.root_client.send(self.root_client.get("/health")).await {
                Ok(_) => return Ok(()),
                Err(ProviderCallFailure::NotFound | ProviderCallFailure::Refused { .. }) => {}
                Err(failure) => return Err(failure),
            }
        }
        self.list_models().await.map(|_| ())
    }

    async fn list_models(&self) -> Result<BTreeSet<String>, ProviderCallFailure> {
        #[derive(Deserialize)]
        struct List {
            data: Vec<Model>,
        }
        #[derive(Deserialize)]
        struct Model {
            id: String,
        }
        let (list, _) = self
            .client
            .send_and_parse::<List>(self.client.get("/models"))
            .await?;
        Ok(list.data.into_iter().map(|model| model.id).collect())
    }
}
