//! A self-hosted, `OpenAI`-compatible server: one request per call, answered in real time.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::file::MediaType;
use domain::reason_code::FailureCode;
use serde::Deserialize;
use tokio_rustls::rustls::RootCertStore;

use super::BatchItem;
use super::client::{
    AuthScheme, ProviderCallFailure, ProviderClient, ProviderOptions, ProviderRequestBody,
    ProviderSetupFailure, RetrySafety,
};
use super::item_result::ItemResult;
use super::media::{MediaForm, MediaSource};
use super::openai_compatible::{self, ApiDialect};

pub mod concurrency_limiter;

#[derive(Debug)]
pub struct RealtimeProvider {
    /// For paths below `/v1`.
    client: ProviderClient,
    /// For paths without the version, such as `/health`.
    root_client: ProviderClient,
}

impl RealtimeProvider {
    /// The base URL ends in the version, as is usual for such servers: `http://host:8000/v1`.
    pub fn new(
        options: ProviderOptions,
        roots: RootCertStore,
    ) -> Result<Self, ProviderSetupFailure> {
        let mut root = options.clone();
        let path = options.base_url.path().trim_end_matches('/');
        root.base_url
            .set_path(path.strip_suffix("/v1").unwrap_or(path));
        Ok(Self {
            client: ProviderClient::new(options, AuthScheme::Bearer, &[], roots.clone())?,
            root_client: ProviderClient::new(root, AuthScheme::Bearer, &[], roots)?,
        })
    }

    /// Sends one item. The server does not bill, so a retry is safe.
    ///
    /// An `Err` is a failure of the server. A fault of the item is an `Ok` with a failed outcome.
    pub async fn complete_item(
        &self,
        item: &BatchItem,
        upstream: &str,
        media: &dyn MediaSource,
        within: Duration,
    ) -> Result<ItemResult, ProviderCallFailure> {
        let body =
            openai_compatible::request_body(&item.params, upstream, media, ApiDialect::SelfHosted);
        let body = match body {
            Ok(body) => body,
            Err(unsupported) => return Ok(ItemResult::failure(unsupported.0)),
        };
        let path = openai_compatible::endpoint_path(item.params.kind());
        let body = ProviderRequestBody::json(&body);
        let call = self.client.post(path, body, RetrySafety::Safe);
        let mut call = call.with_caller_input();
        call.timeout = within;
        // Identifies the item in the server's log.
        let call = call.header("x-request-id", item.key().to_string());
        match self.client.send(call).await {
            Ok(answer) => Ok(match std::str::from_utf8(&answer.body) {
                Ok(body) => {
                    openai_compatible::parse_response(body, item.key(), item.params.model())
                }
                Err(_) => ItemResult::retry("the response cannot be parsed"),
            }),
            Err(ProviderCallFailure::Refused { message, .. }) => Ok(ItemResult::failure(
                FailureCode::RequestRejected.with_message(message),
            )),
            Err(ProviderCallFailure::TooLarge) => Ok(ItemResult::failure(
                FailureCode::RequestTooLarge
                    .with_message("the request is too large for the model server"),
            )),
            Err(failure @ ProviderCallFailure::UnconfirmedOutOfCredit) => {
                Ok(ItemResult::retry(failure.to_string()))
            }
            Err(failure) => Err(failure),
        }
    }

    /// How the server accepts a file of this type.
    pub const fn media_form(&self, media_type: MediaType) -> MediaForm {
        MediaForm::Url.or_text(media_type)
    }

    /// Checks `/health`, or the model list where the server has no `/health`.
    pub async fn check_health(&self) -> Result<(), ProviderCallFailure> {
        match self.root_client.send(self.root_client.get("/health")).await {
            Ok(_) => Ok(()),
            Err(ProviderCallFailure::NotFound | ProviderCallFailure::Refused { .. }) => {
                self.list_models().await.map(|_| ())
            }
            Err(failure) => Err(failure),
        }
    }

    /// The server's names for its models.
    pub async fn list_models(&self) -> Result<BTreeSet<String>, ProviderCallFailure> {
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
