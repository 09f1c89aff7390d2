//! How a provider account is shown: its entry in the file, and its state on each shard.

use domain::money::Money;
use domain::time::to_wire;
use serde::Serialize;
use store::shard::provider::ProviderStatus;

use crate::admin::printer::{AdminView, or_dash};
use crate::providers::ProviderAccount;
use crate::providers::limits::ProviderLimits;

#[derive(Debug, Serialize)]
pub(super) struct ProviderView {
    pub(super) name: String,
    /// This and the next four are none for an account that is no longer in the file.
    kind: Option<&'static str>,
    base_url: Option<String>,
    /// Its source, never the credential.
    credential: Option<String>,
    price_factor: Option<String>,
    limits: Option<ProviderLimits>,
    pub(super) shards: Vec<ProviderOnShard>,
}

#[derive(Debug, Default, Serialize)]
pub(super) struct ProviderOnShard {
    shard: String,
    /// This and the next two are the shard's share; none if the file gives it no share.
    weight: Option<u64>,
    enqueued_tokens_limit: Option<u64>,
    questions_limit: Option<usize>,
    paused_at: Option<String>,
    reason: Option<String>,
    retry_at: Option<String>,
    open_jobs: i64,
    enqueued_tokens: i64,
    /// Why the shard's state is unknown.
    pub(super) failure: Option<String>,
}

impl From<&ProviderAccount> for ProviderView {
    fn from(account: &ProviderAccount) -> Self {
        let shards = account.weights.iter().map(|(shard, weight)| {
            let share = account.shares.get(shard);
            let is_limited = account.limits.enqueued_tokens.is_some();
            let tokens = share.filter(|_| is_limited);
            ProviderOnShard {
                weight: Some(*weight),
                enqueued_tokens_limit: tokens.map(|share| share.max_enqueued_tokens),
                questions_limit: share.map(|share| share.max_concurrent_requests),
                ..ProviderOnShard::without_share(shard)
            }
        });
        Self {
            name: account.name.clone(),
            kind: Some(account.account_kind().as_str()),
            base_url: Some(account.base_url.to_string()),
            credential: account.source.as_ref().map(ToString::to_string),
            price_factor: Some(format_factor(account.price_factor)),
            limits: Some(account.limits),
            shards: shards.collect(),
        }
    }
}

/// Such as 0.5, without trailing zeros.
fn format_factor(factor: Money) -> String {
    let text = factor.to_string();
    let short = text.trim_end_matches('0').trim_end_matches('.');
    if short.is_empty() {
        text
    } else {
        short.to_owned()
    }
}

impl ProviderView {
    pub(super) fn not_in_file(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            kind: None,
            base_url: None,
            credential: None,
            price_factor: None,
            limits: None,
            shards: Vec::new(),
        }
    }

    /// At most one.
    pub(super) fn on_shard(&mut self, shard: &str) -> impl Iterator<Item = &mut ProviderOnShard> {
        self.shards.iter_mut().filter(move |it| it.shard == shard)
    }
}

impl ProviderOnShard {
    pub(super) fn without_share(shard: &str) -> Self {
        Self {
            shard: shard.to_owned(),
            ..Self::default()
        }
    }

    pub(super) fn update(&mut self, status: &ProviderStatus) {
        self.paused_at = status.paused_at.map(to_wire);
        self.reason.clone_from(&status.reason);
        self.retry_at = status.retry_at.map(to_wire);
        self.open_jobs = status.open_jobs;
        self.enqueued_tokens = status.enqueued_tokens;
    }

    fn state(&self) -> String {
        if let Some(failure) = &self.failure {
            return format!("unknown: {failure}");
        }
        let Some(since) = &self.paused_at else {
            return "open".to_owned();
        };
        let mut state = format!("paused since {since}");
        if let Some(retry) = &self.retry_at {
            state = format!("{state}, next retry at {retry}");
        }
        match &self.reason {
            Some(reason) => format!("{state}: {reason}"),
            None => state,
        }
    }
}

/// For people: a row for each account on each shard.
pub(super) fn rows(views: &[ProviderView]) -> Vec<ProviderRow<'_>> {
    let rows = views.iter().flat_map(|view| {
        let row = |on_shard| ProviderRow { view, on_shard };
        view.shards.iter().map(row)
    });
    rows.collect()
}

#[derive(Debug, Serialize)]
pub(super) struct ProviderRow<'a> {
    view: &'a ProviderView,
    on_shard: &'a ProviderOnShard,
}

impl AdminView for ProviderRow<'_> {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let Self { view, on_shard } = self;
        let limits = view.limits.as_ref();
        let of = |now: i64, max: Option<u64>| match max {
            Some(max) => format!("{now} of {max}"),
            None => now.to_string(),
        };
        let job =
            |limits: &ProviderLimits| format!("{} / {} B", limits.job_items, limits.job_bytes);
        let questions = on_shard.questions_limit.map(|max| max.to_string());
        vec![
            ("provider", view.name.clone()),
            ("kind", view.kind.unwrap_or("not in the file").to_owned()),
            ("shard", on_shard.shard.clone()),
            ("jobs", on_shard.open_jobs.to_string()),
            (
                "tokens",
                of(on_shard.enqueued_tokens, on_shard.enqueued_tokens_limit),
            ),
            ("questions", or_dash(questions.as_ref())),
            ("max job", or_dash(limits.map(job).as_ref())),
            ("price", or_dash(view.price_factor.as_ref())),
            ("credential", or_dash(view.credential.as_ref())),
            ("base", or_dash(view.base_url.as_ref())),
            ("state", on_shard.state()),
        ]
    }
}
