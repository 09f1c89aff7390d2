//! The loading side: every load is sent once, and what is acknowledged is written into the book.

use std::net::SocketAddr;
use std::sync::Arc;

use serde_json::json;

use crate::fleet::answers::{Asked, Book};
use crate::fleet::hook::Hook;
use crate::http::Target;
use crate::ledger::{self, Ledger};
use crate::organization::Organization;
use crate::request;

#[derive(Debug)]
pub struct Callers {
    pub organizations: Vec<Organization>,
    pub book: Arc<Book>,
    /// Loads that got no 2xx.
    pub refused: Ledger,
    target: Target,
    callback_url: String,
}

/// What a load asks; no other may have the same text.
#[derive(Debug, Clone)]
pub struct Question {
    pub model: &'static str,
    pub system: Option<String>,
    pub text: String,
}

impl Callers {
    pub fn new(serving: SocketAddr, organizations: &[Organization], hook: &Hook) -> Self {
        Self {
            organizations: organizations.to_vec(),
            book: Arc::clone(&hook.book),
            refused: Ledger::default(),
            target: Target::new(serving),
            callback_url: hook.url(),
        }
    }

    /// One load for the organization at this place of the list, never repeated.
    pub async fn load(&self, place: usize, question: &Question) {
        let Some(organization) = self.organizations.get(place) else {
            return;
        };
        let request = self.request(organization, question);
        let asked = Asked::now(&question.text, question.model, place);
        match self.target.send(request.as_bytes()).await {
            Ok(answer) if answer.is_success() => match answer.cargo() {
                Some(cargo) => self.book.ask(cargo, asked),
                None => self.refused.fail("2xx without a cargo_id"),
            },
            Ok(answer) => self.refused.fail(format!(
                "{} {}",
                answer.status,
                String::from_utf8_lossy(&answer.body)
            )),
            Err(error) => self.refused.fail(ledger::reason(&error)),
        }
    }

    fn request(&self, organization: &Organization, question: &Question) -> String {
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
        request::load(organization, &body)
    }
}
