//! A statement for people: aligned columns, amounts aligned at the decimal point.

use domain::ledger::PostingKind;
use domain::money::Money;
use domain::time::to_wire;
use store::shard::statement::{StatementLine, StatementRange};

use crate::admin::AdminFailure;
use crate::admin::ledger::formatter::{StatementFormatter, StatementRequest};

/// The width of "2026-01-01T00:00:00.000000Z".
const TIMESTAMP_WIDTH: usize = 27;
/// Characters before and after the decimal point.
const WHOLE_WIDTH: usize = 8;
const DECIMALS_WIDTH: usize = 9;
const AMOUNT_WIDTH: usize = WHOLE_WIDTH + 1 + DECIMALS_WIDTH;

#[derive(Debug)]
pub(super) struct TextStatement;

impl StatementFormatter for TextStatement {
    fn head(
        &mut self,
        request: StatementRequest,
        span: StatementRange,
    ) -> Result<String, AdminFailure> {
        let since = request
            .since
            .map(|moment| format!(" from {}", to_wire(moment)));
        let until = request
            .until
            .map(|moment| format!(" up to {}", to_wire(moment)));
        let headings = row(
            ["NUMBER", "AT", "KIND"],
            ["CREDIT", "BALANCE"].map(heading),
            "CARGO",
            ["REVENUE", "LOSS"].map(heading),
            ["REFERENCE", "NOTE"],
        );
        Ok(format!(
            "{}{}{}, in US dollars\n\n{headings}{}",
            request.organization,
            since.unwrap_or_default(),
            until.unwrap_or_default(),
            balance("opening", span.opening)
        ))
    }

    fn line(&mut self, line: &StatementLine) -> Result<String, AdminFailure> {
        let settled = |settled| match line.kind {
            PostingKind::Settlement => amount(settled),
            PostingKind::Deposit | PostingKind::Withdrawal => String::new(),
        };
        let cargo = match line.cargo {
            0 => String::new(),
            cargo => cargo.to_string(),
        };
        Ok(row(
            [
                &line.number.to_string(),
                &to_wire(line.at),
                line.kind.as_str(),
            ],
            [amount(line.entries.credit), amount(line.balance)],
            &cargo,
            [settled(line.entries.revenue), settled(line.entries.loss)],
            [&line.reference, &line.note].map(|text| text.as_deref().unwrap_or_default()),
        ))
    }

    fn tail(&mut self, span: StatementRange) -> String {
        let count = span.end - span.first;
        format!("{}\npostings: {count}\n", balance("closing", span.closing))
    }
}

fn balance(which: &str, balance: Money) -> String {
    let empty = || [String::new(), String::new()];
    let [nothing, _] = empty();
    row(
        ["", "", which],
        [nothing, amount(balance)],
        "",
        empty(),
        ["", ""],
    )
}

fn row(
    [number, at, kind]: [&str; 3],
    [credit, balance]: [String; 2],
    cargo: &str,
    [revenue, loss]: [String; 2],
    [reference, note]: [&str; 2],
) -> String {
    let row = format!(
        "{number:>8}  {at:<TIMESTAMP_WIDTH$}  {kind:<10}  {credit:<AMOUNT_WIDTH$}  \
         {balance:<AMOUNT_WIDTH$}  {cargo:>6}  {revenue:<AMOUNT_WIDTH$}  {loss:<AMOUNT_WIDTH$}  \
         {reference:<20}  {note}"
    );
    row.trim_end().to_owned() + "\n"
}

/// Aligned at the decimal point.
fn amount(amount: Money) -> String {
    let text = amount.to_string();
    let (whole, decimals) = text.split_once('.').unwrap_or((&text, ""));
    format!("{whole:>WHOLE_WIDTH$}.{decimals}")
}

/// Right-aligned with the cents.
fn heading(text: &str) -> String {
    format!("{text:>width$}", width = WHOLE_WIDTH + 3)
}
