//! What the encoders of both chat APIs know besides the request, and the fields that both have.

use domain::features::{Features, PromptCaching, SamplingSupport};
use domain::id::OrganizationId;
use domain::params::ChatParams;
use domain::params::cache_control::CacheControl;
use domain::params::thinking::{Effort, OutputFormat, Thinking};
use domain::route::Route;
use domain::schema_dialect::close_objects;
use domain::tenant_hash::tenant_hash;
use serde_json::{Map, Value, json};

use super::dialect::ServerDialect;
use crate::provider::media::MediaSource;
use crate::provider::request_fields::{self, present_fields};

/// The name of the schema of an answer. The API requires one.
const DEFAULT_SCHEMA_NAME: &str = "answer";

#[derive(Debug)]
pub(super) struct RequestContext<'a> {
    pub(super) route: &'a Route,
    pub(super) dialect: ServerDialect,
    pub(super) media: &'a dyn MediaSource,
    pub(super) organization: OrganizationId,
}

impl RequestContext<'_> {
    pub(super) const fn features(&self) -> &Features {
        &self.route.features
    }

    /// Self-hosted servers cache prompts without marks.
    pub(super) fn sends_cache_marks(&self) -> bool {
        self.features().caching == PromptCaching::Marks && !self.dialect.is_self_hosted()
    }

    /// The part with a cache breakpoint after it, if the caller wants one and the model takes it.
    pub(super) fn mark(&self, mut part: Value, mark: Option<CacheControl>) -> Value {
        if mark.is_some()
            && self.sends_cache_marks()
            && let Some(fields) = part.as_object_mut()
        {
            let breakpoint = json!({"mode": "explicit"});
            fields.insert("prompt_cache_breakpoint".to_owned(), breakpoint);
        }
        part
    }

    /// `temperature` and `top_p`, unless the model refuses them.
    pub(super) fn put_sampling(&self, chat: &ChatParams, body: &mut Map<String, Value>) {
        if self.features().sampling != SamplingSupport::Pass {
            return;
        }
        if let Some(temperature) = chat.temperature {
            body.insert("temperature".to_owned(), json!(temperature));
        }
        if let Some(top_p) = chat.top_p {
            body.insert("top_p".to_owned(), json!(top_p));
        }
        if let (Some(top_k), true) = (chat.top_k, self.dialect.is_self_hosted()) {
            body.insert("top_k".to_owned(), json!(top_k));
        }
    }

    /// How much the model thinks: what the caller wants, or what the catalogue says.
    pub(super) fn effort(&self, chat: &ChatParams) -> Option<&'static str> {
        if chat.thinking == Some(Thinking::Disabled) {
            return Some("none");
        }
        request_fields::effort(chat, self.features()).map(Effort::as_str)
    }

    /// `json_schema` of an answer. `OpenAI` takes only objects that say that they are closed.
    pub(super) fn schema(&self, format: &OutputFormat) -> Map<String, Value> {
        let OutputFormat::JsonSchema { schema, name } = format;
        let schema = if self.dialect.is_self_hosted() {
            schema.clone()
        } else {
            close_objects(schema)
        };
        let name = name.as_deref().unwrap_or(DEFAULT_SCHEMA_NAME);
        present_fields([
            ("name", Some(json!(name))),
            ("schema", Some(Value::Object(schema))),
            ("strict", Some(json!(true))),
        ])
    }

    /// The fields about the tenant and its cache. Without an explicit mode, current models write
    /// every prompt to their cache and bill that.
    pub(super) fn put_tenant(&self, body: &mut Map<String, Value>) {
        let tenant = || json!(tenant_hash(self.organization, &self.route.upstream_model));
        if self.sends_cache_marks() {
            let options = json!({"mode": "explicit"});
            body.insert("prompt_cache_options".to_owned(), options);
            body.insert("prompt_cache_key".to_owned(), tenant());
        }
        if self.dialect == ServerDialect::OpenAi {
            body.insert("safety_identifier".to_owned(), tenant());
        }
    }

    /// The caller's options for this kind of provider.
    pub(super) fn provider_options<'c>(
        &self,
        chat: &'c ChatParams,
    ) -> impl Iterator<Item = (&'c String, &'c Value)> + use<'c> {
        request_fields::provider_options(chat, self.dialect.options_name())
    }
}
