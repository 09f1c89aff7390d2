//! A resolver that answers from a list: one answer per lookup, and the last one repeatedly.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use outbound::callback::DnsResolver;

#[derive(Debug)]
pub(crate) struct ScriptedResolver {
    answers: Mutex<VecDeque<Vec<IpAddr>>>,
    lookups: AtomicUsize,
}

impl ScriptedResolver {
    /// No name has an address.
    pub(crate) fn empty() -> Self {
        Self::answering(&[&[]])
    }

    pub(crate) fn answering(answers: &[&[&str]]) -> Self {
        let read = |answer: &&[&str]| answer.iter().map(|text| super::ip(text)).collect();
        Self {
            answers: Mutex::new(answers.iter().map(read).collect()),
            lookups: AtomicUsize::new(0),
        }
    }

    pub(crate) fn lookups(&self) -> usize {
        self.lookups.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl DnsResolver for ScriptedResolver {
    async fn resolve(&self, _: &str) -> Vec<IpAddr> {
        self.lookups.fetch_add(1, Ordering::SeqCst);
        let mut answers = self.answers.lock().unwrap();
        let answer = answers.pop_front().unwrap_or_default();
        if answers.is_empty() {
            answers.push_back(answer.clone());
        }
        answer
    }
}

/// A resolver that never answers.
#[derive(Debug)]
pub(crate) struct SilentResolver;

#[async_trait]
impl DnsResolver for SilentResolver {
    async fn resolve(&self, _: &str) -> Vec<IpAddr> {
        std::future::pending().await
    }
}
