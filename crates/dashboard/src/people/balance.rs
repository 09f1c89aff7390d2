//! What an organization has, what is held, what it spends, and every posting of its ledger.

use askama::Template;
use axum::body::Body;
use axum::extract::{Query, State};
use axum::response::Response;
use bytes::Bytes;
use domain::account::{Account, Tokens};
use domain::id::OrganizationId;
use domain::ledger::Kind;
use domain::money::Money;
use domain::organization::Plan;
use domain::time::{Timestamp, to_wire};
use futures::stream;
use serde::Deserialize;
use store::control::project;
use store::shard::account;
use store::shard::statement::{self, Line, Span};
use store::view::balance;

use crate::chart;
use crate::csv;
use crate::no::No;
use crate::page::{Page, show};
use crate::seat::{InOrganization, Visitor};
use crate::state::Desk;
use crate::text::{self, Markup};

mod pace;

use pace::Pace;

const PAGE: u32 = 50;
/// How many lines a download reads at once.
const CHUNK: u32 = 1000;
/// Who has more projects than this sees the spending of the first ones.
const PROJECTS: u32 = 1000;

#[derive(Debug, Template)]
#[template(path = "balance.html")]
struct Balance {
    page: Page,
    organization: OrganizationId,
    plan: Plan,
    account: Account,
    bar: Markup,
    pace: Pace,
    quota: Option<u64>,
    tokens: Tokens,
    quota_bar: Markup,
    lines: Vec<Line>,
    older: Option<u64>,
}

impl Balance {
    fn left(&self) -> u64 {
        let spoken_for = self.tokens.used.saturating_add(self.tokens.reserved);
        self.quota.unwrap_or_default().saturating_sub(spoken_for)
    }
}

fn word(line: &Line) -> &'static str {
    match line.kind {
        Kind::Deposit => "paid in",
        Kind::Withdrawal => "paid out",
        Kind::Settlement => "cargo settled",
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct Before {
    before: Option<u64>,
}

pub(crate) async fn page(
    State(desk): State<Desk>,
    within: InOrganization,
    visitor: Visitor,
    Query(Before { before }): Query<Before>,
) -> Result<Response, No> {
    let (place, now) = (&within.place, desk.clock.now());
    let account = account::find(&place.shard, place.organization).await?;
    let account = account.ok_or(No::NotFound)?;
    let spending = spending(&desk, &within, &account, now).await?;
    let end = before.map_or(account.postings + 1, |before| {
        before.min(account.postings + 1)
    });
    let (lines, older) = newest(&within, end).await?;
    let plan_tokens = desk.limits.borrow().of(place.plan).monthly_tokens;
    let (tokens, quota) = (account.tokens.at(now), account.tokens.own.or(plan_tokens));
    Ok(show(&Balance {
        page: Page::of_organization("Balance", &within, &visitor),
        organization: place.organization,
        plan: place.plan,
        bar: balance_bar(&account, spending.this_month),
        quota_bar: quota_bar(tokens, quota),
        account,
        pace: spending,
        quota,
        tokens,
        lines,
        older,
    }))
}

async fn spending(
    desk: &Desk,
    within: &InOrganization,
    account: &Account,
    now: Timestamp,
) -> Result<Pace, No> {
    let place = &within.place;
    let projects = project::page(&desk.control, place.organization, None, PROJECTS).await?;
    let ids: Vec<_> = projects.iter().map(|project| project.id).collect();
    let spent = balance::spent(&place.shard, &ids, pace::since(now)).await?;
    let slugs = projects.iter().map(|it| (it.id, it.slug.to_string()));
    Ok(Pace::of(&spent, &slugs.collect(), account.available(), now))
}

/// The lines before a number, the newest first. They are numbered without a gap.
async fn newest(within: &InOrganization, end: u64) -> Result<(Vec<Line>, Option<u64>), No> {
    let first = end.saturating_sub(u64::from(PAGE)).max(1);
    let span = Span {
        first,
        end,
        opening: Money::ZERO,
        closing: Money::ZERO,
    };
    let place = &within.place;
    let mut lines = statement::page(&place.shard, place.organization, span, first, PAGE).await?;
    lines.reverse();
    Ok((lines, Some(first).filter(|first| *first > 1)))
}

fn nanos(amount: Money) -> u64 {
    u64::try_from(amount.nanos()).unwrap_or_default()
}

fn balance_bar(account: &Account, spent: Money) -> Markup {
    let name = format!(
        "Spent this month {}, held {}, free {}",
        text::money(spent),
        text::money(account.held),
        text::money(account.available())
    );
    chart::shares(
        &name,
        &[
            ("calm", nanos(spent)),
            ("warm", nanos(account.held)),
            ("good", nanos(account.available())),
        ],
    )
}

fn quota_bar(tokens: Tokens, quota: Option<u64>) -> Markup {
    let parts = [
        ("busy", "used", tokens.used),
        ("warm", "reserved", tokens.reserved),
    ];
    chart::bar("Tokens of the month", quota.unwrap_or_default(), &parts)
}

const HEADINGS: [&str; 10] = [
    "number",
    "at",
    "kind",
    "change_dollars",
    "change_nanodollars",
    "balance_dollars",
    "balance_nanodollars",
    "cargo",
    "reference",
    "note",
];

fn record(line: &Line) -> String {
    let amount = |amount: Money| [amount.to_string(), amount.nanos().to_string()];
    let free = |text: &Option<String>| csv::harmless(text.as_deref().unwrap_or_default());
    let mut fields = vec![
        line.number.to_string(),
        to_wire(line.at),
        line.kind.as_str().to_owned(),
    ];
    fields.extend(amount(line.entries.credit));
    fields.extend(amount(line.balance));
    fields.push(line.cargo.to_string());
    fields.extend([free(&line.reference), free(&line.note)]);
    csv::record(fields.iter().map(String::as_str))
}

/// The whole statement, oldest first, read as fast as it is taken.
pub(crate) async fn table(within: InOrganization) -> Result<Response, No> {
    let (shard, organization) = (within.place.shard, within.place.organization);
    let span = statement::span(&shard, organization, None, None).await?;
    let head = stream::iter([Ok(Bytes::from(csv::record(HEADINGS)))]);
    let lines = stream::try_unfold(span.first, move |from| {
        let shard = shard.clone();
        async move {
            let lines = statement::page(&shard, organization, span, from, CHUNK).await?;
            let Some(last) = lines.last() else {
                return Ok::<_, store::Error>(None);
            };
            let next = last.number + 1;
            let text: String = lines.iter().map(record).collect();
            Ok(Some((Bytes::from(text), next)))
        }
    });
    let body = Body::from_stream(futures::StreamExt::chain(head, lines));
    Ok(csv::download(
        &format!("statement-{organization}.csv"),
        body,
    ))
}
