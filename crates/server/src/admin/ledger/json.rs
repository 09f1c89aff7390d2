//! A statement for scripts: one JSON object, a line of text for each posting.

use domain::ledger::Kind;
use domain::money::Money;
use domain::time::to_wire;
use serde::Serialize;
use store::shard::statement::{Line, Span};

use crate::admin::AdminFailure;
use crate::admin::ledger::form::{Form, Wanted};

#[derive(Debug, Default)]
pub(super) struct Json {
    began: bool,
}

impl Form for Json {
    fn head(&mut self, wanted: Wanted, span: Span) -> Result<String, AdminFailure> {
        let head = Head {
            organization_id: wanted.organization.to_string(),
            since: wanted.since.map(to_wire),
            until: wanted.until.map(to_wire),
            currency: "USD",
            scale: 9,
            opening_balance: span.opening.nanos(),
            opening_balance_dollars: span.opening.to_string(),
            closing_balance: span.closing.nanos(),
            closing_balance_dollars: span.closing.to_string(),
        };
        let text = serde_json::to_string(&head)?;
        // The object stays open: its postings follow.
        let open = text.strip_suffix('}').unwrap_or(&text);
        Ok(format!("{open},\"postings\":["))
    }

    fn line(&mut self, line: &Line) -> Result<String, AdminFailure> {
        let comma = if self.began { "," } else { "" };
        self.began = true;
        Ok(format!(
            "{comma}\n{}",
            serde_json::to_string(&Posting::from(line))?
        ))
    }

    fn tail(&mut self, _: Span) -> String {
        let end = if self.began { "\n]}\n" } else { "]}\n" };
        end.to_owned()
    }
}

#[derive(Debug, Serialize)]
struct Head {
    organization_id: String,
    since: Option<String>,
    until: Option<String>,
    currency: &'static str,
    scale: u8,
    opening_balance: i64,
    opening_balance_dollars: String,
    closing_balance: i64,
    closing_balance_dollars: String,
}

#[derive(Debug, Serialize)]
struct Posting<'a> {
    number: u64,
    at: String,
    kind: &'static str,
    credit: i64,
    credit_dollars: String,
    balance: i64,
    balance_dollars: String,
    cargo: u64,
    #[serde(flatten)]
    settled: Option<Settled>,
    reference: Option<&'a str>,
    note: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct Settled {
    revenue: i64,
    revenue_dollars: String,
    loss: i64,
    loss_dollars: String,
}

impl<'a> From<&'a Line> for Posting<'a> {
    fn from(line: &'a Line) -> Self {
        let both = |amount: Money| (amount.nanos(), amount.to_string());
        let (credit, credit_dollars) = both(line.entries.credit);
        let (balance, balance_dollars) = both(line.balance);
        let (revenue, revenue_dollars) = both(line.entries.revenue);
        let (loss, loss_dollars) = both(line.entries.loss);
        Self {
            number: line.number,
            at: to_wire(line.at),
            kind: line.kind.as_str(),
            credit,
            credit_dollars,
            balance,
            balance_dollars,
            cargo: line.cargo,
            settled: (line.kind == Kind::Settlement).then_some(Settled {
                revenue,
                revenue_dollars,
                loss,
                loss_dollars,
            }),
            reference: line.reference.as_deref(),
            note: line.note.as_deref(),
        }
    }
}
