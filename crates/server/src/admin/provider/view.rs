//! An account as it is shown: what the file says of it, and what each shard does.

use domain::money::Money;
use domain::time::to_wire;
use serde::Serialize;
use store::shard::provider::Standing;

use crate::admin::printer::{Shown, or_dash};
use crate::providers::Account;
use crate::providers::limits::Limits;

#[derive(Debug, Serialize)]
pub(super) struct View {
    pub(super) name: String,
    /// These are nothing of an account that is no longer in the file.
    kind: Option<&'static str>,
    base_url: Option<String>,
    /// Where it comes from, never what it is.
    credential: Option<String>,
    price_factor: Option<String>,
    limits: Option<Limits>,
    pub(super) shards: Vec<OnShard>,
}

#[derive(Debug, Default, Serialize)]
pub(super) struct OnShard {
    shard: String,
    /// What it may have; nothing when the file gives it none.
    weight: Option<u64>,
    enqueued_tokens_limit: Option<u64>,
    questions_limit: Option<usize>,
    paused_at: Option<String>,
    reason: Option<String>,
    retry_at: Option<String>,
    open_jobs: i64,
    enqueued_tokens: i64,
    /// Why nothing is known of it.
    pub(super) failure: Option<String>,
}

impl From<&Account> for View {
    fn from(account: &Account) -> Self {
        let shards = account.weights.iter().map(|(shard, weight)| {
            let share = account.shares.get(shard);
            let is_limited = account.limits.enqueued_tokens.is_some();
            let tokens = share.filter(|_| is_limited);
            OnShard {
                weight: Some(*weight),
                enqueued_tokens_limit: tokens.map(|share| share.most_enqueued_tokens),
                questions_limit: share.map(|share| share.most_questions),
                ..OnShard::without_share(shard)
            }
        });
        Self {
            name: account.name.clone(),
            kind: Some(account.kind.as_str()),
            base_url: Some(account.base.to_string()),
            credential: account.source.as_ref().map(ToString::to_string),
            price_factor: Some(factor(account.price_factor)),
            limits: Some(account.limits),
            shards: shards.collect(),
        }
    }
}

/// Such as 0.5, without a second nought.
fn factor(factor: Money) -> String {
    let text = factor.to_string();
    let short = text.trim_end_matches('0').trim_end_matches('.');
    if short.is_empty() {
        text
    } else {
        short.to_owned()
    }
}

impl View {
    pub(super) fn gone(name: &str) -> Self {
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
    pub(super) fn on(&mut self, shard: &str) -> impl Iterator<Item = &mut OnShard> {
        self.shards.iter_mut().filter(move |it| it.shard == shard)
    }
}

impl OnShard {
    pub(super) fn without_share(shard: &str) -> Self {
        Self {
            shard: shard.to_owned(),
            ..Self::default()
        }
    }

    pub(super) fn told(&mut self, standing: &Standing) {
        self.paused_at = standing.paused_at.map(to_wire);
        self.reason.clone_from(&standing.reason);
        self.retry_at = standing.retry_at.map(to_wire);
        self.open_jobs = standing.open_jobs;
        self.enqueued_tokens = standing.enqueued_tokens;
    }

    fn state(&self) -> String {
        if let Some(failure) = &self.failure {
            return format!("not known: {failure}");
        }
        let Some(since) = &self.paused_at else {
            return "open".to_owned();
        };
        let mut state = format!("paused since {since}");
        if let Some(retry) = &self.retry_at {
            state = format!("{state}, tried again at {retry}");
        }
        match &self.reason {
            Some(reason) => format!("{state}: {reason}"),
            None => state,
        }
    }
}

/// For people: a row for each account on each shard.
pub(super) fn rows(views: &[View]) -> Vec<Row<'_>> {
    let rows = views.iter().flat_map(|view| {
        let row = |place| Row { view, place };
        view.shards.iter().map(row)
    });
    rows.collect()
}

#[derive(Debug, Serialize)]
pub(super) struct Row<'a> {
    view: &'a View,
    place: &'a OnShard,
}

impl Shown for Row<'_> {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let Self { view, place } = self;
        let limits = view.limits.as_ref();
        let of = |now: i64, most: Option<u64>| match most {
            Some(most) => format!("{now} of {most}"),
            None => now.to_string(),
        };
        let job = |limits: &Limits| format!("{} / {} B", limits.job_items, limits.job_bytes);
        let questions = place.questions_limit.map(|most| most.to_string());
        vec![
            ("provider", view.name.clone()),
            ("kind", view.kind.unwrap_or("not in the file").to_owned()),
            ("shard", place.shard.clone()),
            ("jobs", place.open_jobs.to_string()),
            (
                "tokens",
                of(place.enqueued_tokens, place.enqueued_tokens_limit),
            ),
            ("questions", or_dash(questions.as_ref())),
            ("job at most", or_dash(limits.map(job).as_ref())),
            ("price", or_dash(view.price_factor.as_ref())),
            ("credential", or_dash(view.credential.as_ref())),
            ("base", or_dash(view.base_url.as_ref())),
            ("state", place.state()),
        ]
    }
}
