//! A statement as CSV (RFC 4180), without cells that a spreadsheet would run as formulas.

use domain::ledger::PostingKind;
use domain::money::Money;
use domain::time::to_wire;
use store::shard::statement::{StatementLine, StatementRange};

use crate::admin::AdminFailure;
use crate::admin::ledger::formatter::{StatementFormatter, StatementRequest};

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
pub(super) struct CsvStatement;

impl StatementFormatter for CsvStatement {
    fn head(&mut self, _: StatementRequest, _: StatementRange) -> Result<String, AdminFailure> {
        Ok(record(&HEADINGS.map(str::to_owned)))
    }

    fn line(&mut self, line: &StatementLine) -> Result<String, AdminFailure> {
        let amount = |amount: Money| [amount.to_string(), amount.nanos().to_string()];
        let settled = |settled| match line.kind {
            PostingKind::Settlement => amount(settled),
            PostingKind::Deposit | PostingKind::Withdrawal => [String::new(), String::new()],
        };
        let free_text = |text: &Option<String>| escape_formula(text.as_deref().unwrap_or_default());
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
        fields.extend([free_text(&line.reference), free_text(&line.note)]);
        Ok(record(&fields))
    }

    fn tail(&mut self, _: StatementRange) -> String {
        String::new()
    }
}

/// Free text may start like a formula, which a spreadsheet would run.
pub(super) fn escape_formula(text: &str) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        format!("'{text}")
    } else {
        text.to_owned()
    }
}

fn record(fields: &[String]) -> String {
    let fields: Vec<String> = fields.iter().map(|field| quote(field)).collect();
    fields.join(",") + "\r\n"
}

fn quote(field: &str) -> String {
    if field.contains([',', '"', '\r', '\n']) || field.trim() != field {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}
