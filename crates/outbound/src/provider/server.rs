//! A server of one's own that speaks like `OpenAI`: one request a call, answered while one waits.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::file::MediaType;
use serde::Deserialize;
use tokio_rustls::rustls::RootCertStore;

use super::Item;
use super::call::{CallFailure, Caller, Effect, Options, Payload, Proof, SetupFailure};
use super::completions::{self, Dialect};
use super::ending::ItemEnd;
use super::media::{Form, MediaSource};

pub mod concurrency;

#[derive(Debug)]
pub struct Server {
    /// Behind the version.
    caller: Caller,
    /// The host itself, where its health is.
    root: Caller,
}

impl Server {
    /// The base ends in the version, as clients of such servers write it: `http://host:8000/v1`.
    pub fn new(options: Options, roots: RootCertStore) -> Result<Self, SetupFailure> {
        let mut root = options.clone();
        let path = options.base.path().trim_end_matches('/');
        root.base.set_path(path.strip_suffix("/v1").unwrap_or(path));
        Ok(Self {
            caller: Caller::new(options, Proof::Bearer, &[], roots.clone())?,
            root: Caller::new(root, Proof::Bearer, &[], roots)?,
        })
    }

    /// Asks once. Nobody bills us here, so what was lost may be asked again.
    ///
    /// A failure is the server's; what is wrong with the item itself is how the item ended.
    pub async fn ask(
        &self,
        item: &Item,
        upstream: &str,
        media: &dyn MediaSource,
        within: Duration,
    ) -> Result<ItemEnd, CallFailure> {
        let body = completions::body(&item.params, upstream, media, Dialect::Server);
        let body = match body {
            Ok(body) => body,
            Err(unfit) => return Ok(ItemEnd::failed(unfit.0)),
        };
        let path = completions::path(item.params.kind());
        let mut call = self.caller.post(path, Payload::json(&body), Effect::None);
        call.within = within;
        // Of use in the server's log.
        let call = call.header("x-request-id", item.key().to_string());
        match self.caller.ask(call).await {
            Ok(answer) => Ok(match std::str::from_utf8(&answer.body) {
                Ok(body) => completions::read(body, item.key(), item.params.model()),
                Err(_) => ItemEnd::again("the answer cannot be read"),
            }),
            Err(CallFailure::Refused { message, .. }) => Ok(ItemEnd::failed(message)),
            Err(CallFailure::TooLarge) => Ok(ItemEnd::failed("too large for the model's server")),
            Err(failure) => Err(failure),
        }
    }

    /// How it wants a file of this type.
    pub const fn form(&self, media_type: MediaType) -> Form {
        Form::Address.or_text(media_type)
    }

    /// Whether it takes requests. One that has no page for it is asked for its models.
    pub async fn health(&self) -> Result<(), CallFailure> {
        match self.root.ask(self.root.get("/health")).await {
            Ok(_) => Ok(()),
            Err(CallFailure::NotFound | CallFailure::Refused { .. }) => {
                self.models().await.map(|_| ())
            }
            Err(failure) => Err(failure),
        }
    }

    /// By the names that the server gives them.
    pub async fn models(&self) -> Result<BTreeSet<String>, CallFailure> {
        #[derive(Deserialize)]
        struct List {
            data: Vec<Model>,
        }
        #[derive(Deserialize)]
        struct Model {
            id: String,
        }
        let (list, _) = self.caller.read::<List>(self.caller.get("/models")).await?;
        Ok(list.data.into_iter().map(|model| model.id).collect())
    }
}
