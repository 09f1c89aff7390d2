//! How savings are shown: a line per organization and model, and a total.

use std::ops::Add;

use domain::id::OrganizationId;
use domain::money::Money;
use domain::saving::Saving;
use domain::time::{Timestamp, to_wire};
use serde::Serialize;

use crate::admin::AdminFailure;
use crate::admin::printer::{AdminView, Printer, dollars, or_dash};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct SavingsSum {
    pub(super) cargo: u64,
    pub(super) charged: Money,
    pub(super) cost: Money,
    pub(super) saving: Saving,
}

impl Add for SavingsSum {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            cargo: self.cargo.saturating_add(other.cargo),
            charged: self.charged + other.charged,
            cost: self.cost + other.cost,
            saving: self.saving + other.saving,
        }
    }
}

/// In nano-dollars.
#[derive(Debug, Serialize)]
pub(super) struct SavingsView {
    since: Option<String>,
    currency: &'static str,
    scale: u8,
    savings: Vec<SavingsLine>,
    total: Amounts,
}

#[derive(Debug, Serialize)]
struct SavingsLine {
    organization_id: Option<String>,
    model: String,
    #[serde(flatten)]
    amounts: Amounts,
}

#[derive(Debug, Serialize)]
struct Amounts {
    cargo: u64,
    charged: i64,
    /// This and the next two are none if no realtime price was known.
    realtime: Option<i64>,
    saved: Option<i64>,
    percent: Option<String>,
    /// What providers billed us, and what is left of the charge; none if no cost was known.
    cost: Option<i64>,
    margin: Option<i64>,
}

type SavingsEntry = ((Option<OrganizationId>, String), SavingsSum);

impl SavingsView {
    pub(super) fn new(
        since: Option<Timestamp>,
        sums: impl IntoIterator<Item = SavingsEntry>,
    ) -> Self {
        let mut total = SavingsSum::default();
        let mut savings = Vec::new();
        for ((organization, model), sum) in sums {
            total = total + sum;
            savings.push(SavingsLine {
                organization_id: organization.map(|id| id.to_string()),
                model,
                amounts: Amounts::from(sum),
            });
        }
        Self {
            since: since.map(to_wire),
            currency: "USD",
            scale: 9,
            savings,
            total: Amounts::from(total),
        }
    }

    pub(super) fn render(self, printer: Printer) -> Result<String, AdminFailure> {
        if printer == Printer::Json {
            return Ok(serde_json::to_string(&self)? + "\n");
        }
        let mut lines = self.savings;
        if !lines.is_empty() {
            lines.push(SavingsLine {
                organization_id: Some("total".to_owned()),
                model: String::new(),
                amounts: self.total,
            });
        }
        printer.render_many(&lines)
    }
}

impl From<SavingsSum> for Amounts {
    fn from(sum: SavingsSum) -> Self {
        let Saving { realtime, saved } = sum.saving;
        let is_known = !realtime.is_zero();
        let is_cost_known = !sum.cost.is_zero();
        let margin = sum.charged - sum.cost;
        Self {
            cargo: sum.cargo,
            charged: sum.charged.nanos(),
            realtime: is_known.then_some(realtime.nanos()),
            saved: is_known.then_some(saved.nanos()),
            percent: is_known.then(|| percent(saved, realtime)),
            cost: is_cost_known.then_some(sum.cost.nanos()),
            margin: is_cost_known.then_some(margin.nanos()),
        }
    }
}

/// With one decimal.
fn percent(part: Money, whole: Money) -> String {
    let (part, whole) = (i128::from(part.nanos()), i128::from(whole.nanos()));
    let tenths = (part * 1000 + whole / 2) / whole.max(1);
    format!("{}.{}", tenths / 10, tenths % 10)
}

impl AdminView for SavingsLine {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let amounts = &self.amounts;
        let money = |nanos: Option<i64>| or_dash(nanos.map(|it| dollars(Money(it))).as_ref());
        vec![
            ("organization", or_dash(self.organization_id.as_ref())),
            ("model", self.model.clone()),
            ("cargo", amounts.cargo.to_string()),
            ("charged", dollars(Money(amounts.charged))),
            ("realtime", money(amounts.realtime)),
            ("saved", money(amounts.saved)),
            ("percent", or_dash(amounts.percent.as_ref())),
            ("cost", money(amounts.cost)),
            ("margin", money(amounts.margin)),
        ]
    }
}
