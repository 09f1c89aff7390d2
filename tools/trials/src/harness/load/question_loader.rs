//! Loads questions: every load is sent once, and acknowledged cargo is recorded in the callback
//! log.

use std::net::SocketAddr;
use std::sync::Arc;

use serde_json::json;

use crate::harness::callbacks::callback_log::{CallbackLog, LoadedQuestion};
use crate::harness::callbacks::recording_sink::RecordingCallbackSink;
use crate::harness::http::load_request;
use crate::harness::http::service_client::ServiceClient;
use crate::harness::load::load_log::{self, LoadLog};
use crate::harness::organization::TrialOrganization;

#[derive(Debug)]
pub struct QuestionLoader {
    pub organizations: Vec<TrialOrganization>,
    pub callback_log: Arc<CallbackLog>,
    /// Loads that got no 2xx.
    pub failures: LoadLog,
    client: ServiceClient,
    callback_url: String,
}

/// The question of a load; its text must be unique.
#[derive(Debug, Clone)]
pub struct ChatQuestion {
    pub model: &'static str,
    pub system: Option<String>,
    pub text: String,
}

impl QuestionLoader {
    pub fn new(
        serving: SocketAddr,
        organizations: &[TrialOrganization],
        sink: &RecordingCallbackSink,
    ) -> Self {
        Self {
            organizations: organizations.to_vec(),
            callback_log: Arc::clone(&sink.callback_log),
            failures: LoadLog::default(),
            client: ServiceClient::new(serving),
            callback_url: sink.url(),
        }
    }

    /// Sends one load for the organization with this index, never retried.
    pub async fn load_question(&self, place: usize, question: &ChatQuestion) {
        let Some(organization) = self.organizations.get(place) else {
            return;
        };
        let request = self.format_request(organization, question);
        let loaded = LoadedQuestion::loaded_now(&question.text, question.model, place);
        match self.client.send(request.as_bytes()).await {
            Ok(answer) if answer.is_success() => match answer.cargo_id() {
                Some(cargo) => self.callback_log.record_load(cargo, loaded),
                None => self.failures.record_failure("2xx without a cargo_id"),
            },
            Ok(answer) => self.failures.record_failure(format!(
                "{} {}",
                answer.status,
                String::from_utf8_lossy(&answer.body)
            )),
            Err(error) => self.failures.record_failure(load_log::error_reason(&error)),
        }
    }

    fn format_request(&self, organization: &TrialOrganization, question: &ChatQuestion) -> String {
        let message = json!({"role": "user", "content": question.text});
        let mut params = json!({
            "model": question.model,
            "max_tokens": 64,
            "messages": [message],
        });
        if let (Some(system), Some(params)) = (&question.system, params.as_object_mut()) {
            params.insert("system".to_owned(), json!(system));
        }
        let body = json!({"params": params, "callback_url": self.callback_url}).to_string();
        load_request::format_load(organization, &body)
    }
}
