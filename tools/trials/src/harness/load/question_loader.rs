//! Loads questions: acknowledged cargo is recorded in the callback log.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::time::Instant;

use serde_json::json;

use crate::harness::http::load_request;
use crate::harness::load::callback_log::CallbackLog;
use crate::harness::load::load_log::{LoadRecord, LoadSource};
use crate::harness::{CallbackSink, HttpRequest, HttpResponse, ServiceClient, TrialOrganization};

#[derive(Debug)]
pub struct QuestionLoader {
    pub organizations: Vec<TrialOrganization>,
    pub callback_log: CallbackLog,
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
        sink: &CallbackSink,
    ) -> Self {
        Self {
            organizations: organizations.to_vec(),
            callback_log: CallbackLog::new(&sink.receipts),
            client: ServiceClient::new(serving),
            callback_url: sink.url(),
        }
    }

    /// Sends one load for the organization with this index, and repeats it while it is answered
    /// with 503.
    pub async fn load_question(&self, place: usize, question: &ChatQuestion) {
        if let Some(organization) = self.organizations.get(place) {
            let request = self.build_request(organization, question);
            let sending = self.client.send_load(request);
            self.record_load(place, question, sending).await;
        }
    }

    /// The same, never repeated: for a service that must refuse it.
    pub async fn load_question_once(&self, place: usize, question: &ChatQuestion) {
        if let Some(organization) = self.organizations.get(place) {
            let request = self.build_request(organization, question);
            let sending = self.client.send(request);
            self.record_load(place, question, sending).await;
        }
    }

    async fn record_load(
        &self,
        place: usize,
        question: &ChatQuestion,
        sending: impl Future<Output = io::Result<HttpResponse>>,
    ) {
        let source = LoadSource {
            organization: place,
            client: None,
            label: question.model,
        };
        let began_at = Instant::now();
        let sent = sending.await;
        let mut record = LoadRecord::new(source, began_at, sent.as_ref());
        if let (None, Ok(answer)) = (record.cargo, sent) {
            record.answer = format!("{} {}", record.answer, answer.text());
        }
        self.callback_log.record_load(record, &question.text);
    }

    fn build_request(
        &self,
        organization: &TrialOrganization,
        question: &ChatQuestion,
    ) -> HttpRequest {
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
        load_request::load(organization, body)
    }
}
