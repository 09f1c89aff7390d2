//! `longshored admin credit …`: what customers pay in, and what is paid back.

use clap::{Args, Subcommand};
use domain::id::OrganizationId;
use domain::money::Money;
use serde::Serialize;
use store::Shard;
use store::shard::credit::{self, Direction, Paid, Payment};

use crate::admin::AdminFailure;
use crate::admin::Desk;
use crate::admin::argument;
use crate::admin::organization;
use crate::admin::printer::{Shown, dollars};

#[derive(Debug, Subcommand)]
pub(super) enum CreditCommand {
    /// Add credit that was paid for.
    Add(Asked),
    /// Take credit out again; what is held for cargo under way stays.
    Withdraw(Asked),
}

#[derive(Debug, Args)]
pub(super) struct Asked {
    #[arg(value_parser = argument::id::<domain::id::OrganizationKind>)]
    id: OrganizationId,
    /// Such as 250 or 12.50; at most nine decimals.
    #[arg(value_name = "DOLLARS", value_parser = argument::dollars, allow_hyphen_values = true)]
    amount: Money,
    /// The payment's own name, such as an invoice: given twice, it is posted once.
    #[arg(long, value_parser = argument::remark)]
    reference: Option<String>,
    /// For the statement.
    #[arg(long, value_parser = argument::remark)]
    note: Option<String>,
}

pub(super) async fn run(command: CreditCommand, desk: Desk<'_>) -> Result<String, AdminFailure> {
    let (direction, asked) = match command {
        CreditCommand::Add(asked) => (Direction::In, asked),
        CreditCommand::Withdraw(asked) => (Direction::Out, asked),
    };
    let (_, shard) = organization::home(asked.id, desk).await?;
    let payment = Payment {
        amount: asked.amount,
        direction,
        reference: asked.reference,
        note: asked.note,
    };
    let view = pay(shard, asked.id, payment).await?;
    desk.printer.one(&view)
}

async fn pay(
    shard: &Shard,
    organization: OrganizationId,
    payment: Payment,
) -> Result<View, AdminFailure> {
    let away = |source| AdminFailure::Unanswered {
        shard: shard.name.to_string(),
        source,
    };
    // Its postings carry the shard's own time.
    let now = store::doctor::now(&shard.pool).await.map_err(away)?;
    let paid = credit::pay(shard, organization, &payment, now).await;
    let paid = paid.map_err(|source| AdminFailure::Unpaid {
        organization,
        shard: shard.name.to_string(),
        source,
    })?;
    match paid {
        Paid::Posted { number, balance } => Ok(View::new(organization, payment, number, balance)),
        Paid::Before { number, balance } => Ok(View {
            repeated: true,
            ..View::new(organization, payment, number, balance)
        }),
        Paid::ReferenceUsed { number } => Err(AdminFailure::ReferenceUsed {
            organization,
            reference: payment.reference.unwrap_or_default(),
            number,
        }),
        Paid::TooLittle { available } => Err(AdminFailure::TooLittle { available }),
        Paid::TooMuch => Err(AdminFailure::TooMuch),
        Paid::NoAccount => Err(AdminFailure::NoAccount {
            organization,
            shard: shard.name.to_string(),
        }),
    }
}

#[derive(Debug, Serialize)]
pub(super) struct View {
    organization_id: String,
    posting: u64,
    kind: &'static str,
    amount: i64,
    /// Of the organization's credit, after this posting.
    balance: i64,
    currency: &'static str,
    scale: u8,
    reference: Option<String>,
    note: Option<String>,
    /// It had been posted before, under this reference.
    repeated: bool,
}

impl View {
    pub(super) fn new(
        organization: OrganizationId,
        payment: Payment,
        number: u64,
        balance: Money,
    ) -> Self {
        Self {
            organization_id: organization.to_string(),
            posting: number,
            kind: match payment.direction {
                Direction::In => "deposit",
                Direction::Out => "withdrawal",
            },
            amount: payment.amount.nanos(),
            balance: balance.nanos(),
            currency: "USD",
            scale: 9,
            reference: payment.reference,
            note: payment.note,
            repeated: false,
        }
    }

    #[cfg(test)]
    pub(super) fn repeat(self) -> Self {
        Self {
            repeated: true,
            ..self
        }
    }
}

impl Shown for View {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let mut fields = vec![
            ("organization", self.organization_id.clone()),
            ("posting", self.posting.to_string()),
            (self.kind, dollars(Money(self.amount))),
            ("balance", dollars(Money(self.balance))),
        ];
        let texts = [("reference", &self.reference), ("note", &self.note)];
        let given = texts
            .into_iter()
            .filter_map(|(label, text)| Some((label, text.clone()?)));
        fields.extend(given);
        fields
    }

    fn remark(&self) -> Option<&'static str> {
        self.repeated.then_some(
            "This reference was posted before; nothing was changed. The balance is the one of then.",
        )
    }
}
