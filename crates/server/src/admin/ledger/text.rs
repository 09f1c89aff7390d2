//! A statement for people: columns that stand under each other, amounts by their point.

use domain::ledger::Kind;
use domain::money::Money;
use domain::time::to_wire;
use store::shard::statement::{Line, Span};

use crate::admin::AdminFailure;
use crate::admin::ledger::form::{Form, Wanted};

/// As wide as "2026-01-01T00:00:00.000000Z".
const MOMENT: usize = 27;
/// Before the point, and all the decimals there are.
const WHOLE: usize = 8;
const DECIMALS: usize = 9;
const AMOUNT: usize = WHOLE + 1 + DECIMALS;

#[derive(Debug)]
pub(super) struct Text;

impl Form for Text {
    fn head(&mut self, wanted: Wanted, span: Span) -> Result<String, AdminFailure> {
        let since = wanted
            .since
            .map(|moment| format!(" from {}", to_wire(moment)));
        let until = wanted
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
            wanted.organization,
            since.unwrap_or_default(),
            until.unwrap_or_default(),
            balance("opening", span.opening)
        ))
    }

    fn line(&mut self, line: &Line) -> Result<String, AdminFailure> {
        let settled = |settled| match line.kind {
            Kind::Settlement => amount(settled),
            Kind::Deposit | Kind::Withdrawal => String::new(),
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

    fn tail(&mut self, span: Span) -> String {
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
        "{number:>8}  {at:<MOMENT$}  {kind:<10}  {credit:<AMOUNT$}  {balance:<AMOUNT$}  {cargo:>6}  \
         {revenue:<AMOUNT$}  {loss:<AMOUNT$}  {reference:<20}  {note}"
    );
    row.trim_end().to_owned() + "\n"
}

/// The points stand under each other.
fn amount(amount: Money) -> String {
    let text = amount.to_string();
    let (whole, decimals) = text.split_once('.').unwrap_or((&text, ""));
    format!("{whole:>WHOLE$}.{decimals}")
}

/// Ends where the cents end.
fn heading(text: &str) -> String {
    format!("{text:>width$}", width = WHOLE + 3)
}
