//! A statement as one JSON object, with each posting on its own line.

use domain::ledger::PostingKind;
use domain::money::Money;
use domain::time::to_wire;
use serde::Serialize;
use store::shard::statement::{StatementLine, StatementRange};

use crate::admin::AdminFailure;
use crate::admin::ledger::formatter::{StatementFormatter, StatementRequest};

#[derive(Debug, Default)]
pub(super) struct JsonStatement {
    has_postings: bool,
}

impl StatementFormatter for JsonStatement {
    fn head(
        &mut self,
        request: StatementRequest,
        span: StatementRange,
    ) -> Result<String, AdminFailure> {
        let head = StatementHead {
            organization_id: request.organization.to_string(),
            since: request.since.map(to_wire),
            until: request.until.map(to_wire),
            currency: "USD",
            scale: 9,
            opening_balance: span.opening.nanos(),
            opening_balance_dollars: span.opening.to_string(),
            closing_balance: span.closing.nanos(),
            closing_balance_dollars: span.closing.to_string(),
        };
        let text = serde_json::to_string(&head)?;
        // The object stays open for its postings.
        let open = text.strip_suffix('}').unwrap_or(&text);
        Ok(format!("{open},\"postings\":["))
    }

    fn line(&mut self, line: &StatementLine) -> Result<String, AdminFailure> {
        let comma = if self.has_postings { "," } else { "" };
        self.has_postings = true;
        Ok(format!(
            "{comma}\n{}",
            serde_json::to_string(&StatementPosting::from(line))?
        ))
    }

    fn tail(&mut self, _: StatementRange) -> String {
        let end = if self.has_postings { "\n]}\n" } else { "]}\n" };
        end.to_owned()
    }
}

#[derive(Debug, Serialize)]
struct StatementHead {
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
struct StatementPosting<'a> {
    number: u64,
    at: String,
    kind: &'static str,
    credit: i64,
    credit_dollars: String,
    balance: i64,
    balance_dollars: String,
    cargo: u64,
    #[serde(flatten)]
    settled: Option<SettlementAmounts>,
    reference: Option<&'a str>,
    note: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct SettlementAmounts {
    revenue: i64,
    revenue_dollars: String,
    loss: i64,
    loss_dollars: String,
}

impl<'a> From<&'a StatementLine> for StatementPosting<'a> {
    fn from(line: &'a StatementLine) -> Self {
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
            settled: (line.kind == PostingKind::Settlement).then_some(SettlementAmounts {
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
