//! A statement for spreadsheets: RFC 4180, and nothing in it is ever a formula.

use domain::ledger::Kind;
use domain::money::Money;
use domain::time::to_wire;
use store::shard::statement::{Line, Span};

use crate::admin::AdminFailure;
use crate::admin::ledger::form::{Form, Wanted};

const HEADINGS: [&str; 14] = [
    "number",
    "at",
    "kind",
    "credit_dollars",
    "credit_nanodollars",
    "balance_dollars",
    "balance_nanodollars",
    "cargo",
    "revenue_dollars",
    "revenue_nanodollars",
    "loss_dollars",
    "loss_nanodollars",
    "reference",
    "note",
];

#[derive(Debug)]
pub(super) struct Csv;

impl Form for Csv {
    fn head(&mut self, _: Wanted, _: Span) -> Result<String, AdminFailure> {
        Ok(record(&HEADINGS.map(str::to_owned)))
    }

    fn line(&mut self, line: &Line) -> Result<String, AdminFailure> {
        let amount = |amount: Money| [amount.to_string(), amount.nanos().to_string()];
        let settled = |settled| match line.kind {
            Kind::Settlement => amount(settled),
            Kind::Deposit | Kind::Withdrawal => [String::new(), String::new()],
        };
        let free = |text: &Option<String>| harmless(text.as_deref().unwrap_or_default());
        let mut fields = vec![
            line.number.to_string(),
            to_wire(line.at),
            line.kind.as_str().to_owned(),
        ];
        fields.extend(amount(line.entries.credit));
        fields.extend(amount(line.balance));
        fields.push(line.cargo.to_string());
        fields.extend(settled(line.entries.revenue));
        fields.extend(settled(line.entries.loss));
        fields.extend([free(&line.reference), free(&line.note)]);
        Ok(record(&fields))
    }

    fn tail(&mut self, _: Span) -> String {
        String::new()
    }
}

/// What people wrote may begin like a formula, which a spreadsheet would carry out.
pub(super) fn harmless(text: &str) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        format!("'{text}")
    } else {
        text.to_owned()
    }
}

fn record(fields: &[String]) -> String {
    let fields: Vec<String> = fields.iter().map(|field| quoted(field)).collect();
    fields.join(",") + "\r\n"
}

fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\r', '\n']) || field.trim() != field {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}
