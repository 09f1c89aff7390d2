//! An organization's credit, holds, spending, token quota and ledger statement.

use askama::Template;
use axum::body::Body;
use axum::extract::{Query, State};
use axum::response::Response;
use bytes::Bytes;
use domain::account::{Account, MonthlyTokenQuota};
use domain::id::OrganizationId;
use domain::ledger::PostingKind;
use domain::money::Money;
use domain::organization::Plan;
use domain::time::{Timestamp, to_wire};
use futures::stream;
use serde::Deserialize;
use store::control::project;
use store::shard::account;
use store::shard::statement::{self, StatementLine, StatementRange};
use store::view::balance;

use crate::access::{ClientInfo, OrganizationAccess};
use crate::chart;
use crate::csv;
use crate::page::{PageLayout, render_page};
use crate::page_error::PageError;
use crate::read_audit::record_organization_export;
use crate::state::DashboardState;
use crate::text::{self, Markup};

mod spending;

use spending::SpendingTrend;

const PAGE_SIZE: u32 = 50;
/// Lines per query of the CSV download.
const CSV_CHUNK_LINES: u32 = 1000;
/// Organizations with more projects see the spending of the first ones only.
const MAX_PROJECTS: u32 = 1000;

#[derive(Debug, Template)]
#[template(path = "balance.html")]
struct BalancePage {
    page: PageLayout,
    organization: OrganizationId,
    plan: Plan,
    account: Account,
    bar: Markup,
    spending: SpendingTrend,
    quota: Option<u64>,
    tokens: MonthlyTokenQuota,
    quota_bar: Markup,
    lines: Vec<StatementLine>,
    older: Option<u64>,
}

impl BalancePage {
    fn remaining_tokens(&self) -> u64 {
        let taken = self.tokens.used.saturating_add(self.tokens.reserved);
        self.quota.unwrap_or_default().saturating_sub(taken)
    }
}

fn posting_label(line: &StatementLine) -> &'static str {
    match line.kind {
        PostingKind::Deposit => "deposit",
        PostingKind::Withdrawal => "withdrawal",
        PostingKind::Settlement => "cargo settled",
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct StatementQuery {
    before: Option<u64>,
}

pub(crate) async fn page(
    State(state): State<DashboardState>,
    within: OrganizationAccess,
    client: ClientInfo,
    Query(StatementQuery { before }): Query<StatementQuery>,
) -> Result<Response, PageError> {
    let (scope, now) = (&within.scope, state.clock.now());
    let account = account::find(&scope.shard, scope.organization).await?;
    let account = account.ok_or(PageError::NotFound)?;
    let spending = read_spending(&state, &within, &account, now).await?;
    let end = before.map_or(account.postings + 1, |before| {
        before.min(account.postings + 1)
    });
    let (lines, older) = read_lines(&within, end).await?;
    let plan_tokens = state.limits.borrow().for_plan(scope.plan).monthly_tokens;
    let (tokens, quota) = (
        account.tokens.in_month_of(now),
        account.tokens.custom_quota.or(plan_tokens),
    );
    Ok(render_page(&BalancePage {
        page: PageLayout::for_organization("Balance", &within, &client),
        organization: scope.organization,
        plan: scope.plan,
        bar: balance_bar(&account, spending.this_month),
        quota_bar: quota_bar(tokens, quota),
        account,
        spending,
        quota,
        tokens,
        lines,
        older,
    }))
}

async fn read_spending(
    state: &DashboardState,
    within: &OrganizationAccess,
    account: &Account,
    now: Timestamp,
) -> Result<SpendingTrend, PageError> {
    let scope = &within.scope;
    let projects = project::list(&state.control, scope.organization, None, MAX_PROJECTS).await?;
    let ids: Vec<_> = projects.iter().map(|project| project.id).collect();
    let spent = balance::list_daily_charges(&scope.shard, &ids, spending::data_start(now)).await?;
    let slugs = projects.iter().map(|it| (it.id, it.slug.to_string()));
    Ok(SpendingTrend::of(
        &spent,
        &slugs.collect(),
        account.available(),
        now,
    ))
}

/// The lines before a number, newest first. Line numbers have no gaps.
async fn read_lines(
    within: &OrganizationAccess,
    end: u64,
) -> Result<(Vec<StatementLine>, Option<u64>), PageError> {
    let first = end.saturating_sub(u64::from(PAGE_SIZE)).max(1);
    let span = StatementRange {
        first,
        end,
        opening: Money::ZERO,
        closing: Money::ZERO,
    };
    let scope = &within.scope;
    let mut lines =
        statement::list_lines(&scope.shard, scope.organization, span, first, PAGE_SIZE).await?;
    lines.reverse();
    Ok((lines, Some(first).filter(|first| *first > 1)))
}

fn nanos(amount: Money) -> u64 {
    u64::try_from(amount.nanos()).unwrap_or_default()
}

fn balance_bar(account: &Account, spent: Money) -> Markup {
    let name = format!(
        "Spent this month {}, held {}, available {}",
        text::money(spent),
        text::money(account.held),
        text::money(account.available())
    );
    chart::stacked_bar(
        &name,
        &[
            ("calm", nanos(spent)),
            ("warm", nanos(account.held)),
            ("good", nanos(account.available())),
        ],
    )
}

fn quota_bar(tokens: MonthlyTokenQuota, quota: Option<u64>) -> Markup {
    let parts = [
        ("busy", "used", tokens.used),
        ("warm", "reserved", tokens.reserved),
    ];
    chart::progress_bar("Tokens this month", quota.unwrap_or_default(), &parts)
}

const CSV_HEADINGS: [&str; 10] = [
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

fn csv_record(line: &StatementLine) -> String {
    let amount = |amount: Money| [amount.to_string(), amount.nanos().to_string()];
    let free = |text: &Option<String>| csv::escape_formula(text.as_deref().unwrap_or_default());
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

/// The whole statement as CSV, oldest first, streamed.
pub(crate) async fn download_csv(
    State(state): State<DashboardState>,
    within: OrganizationAccess,
) -> Result<Response, PageError> {
    record_organization_export(&state, &within, "statement.exported").await?;
    let (shard, organization) = (within.scope.shard, within.scope.organization);
    let span = statement::find_range(&shard, organization, None, None).await?;
    let head = stream::iter([Ok(Bytes::from(csv::record(CSV_HEADINGS)))]);
    let lines = stream::try_unfold(span.first, move |from| {
        let shard = shard.clone();
        async move {
            let lines =
                statement::list_lines(&shard, organization, span, from, CSV_CHUNK_LINES).await?;
            let Some(last) = lines.last() else {
                return Ok::<_, store::Error>(None);
            };
            let next = last.number + 1;
            let text: String = lines.iter().map(csv_record).collect();
            Ok(Some((Bytes::from(text), next)))
        }
    });
    let body = Body::from_stream(futures::StreamExt::chain(head, lines));
    Ok(csv::download(
        &format!("statement-{organization}.csv"),
        body,
    ))
}
