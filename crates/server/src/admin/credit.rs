//! `longshored admin credit …`: deposits and withdrawals.

use clap::{Args, Subcommand};
use domain::id::OrganizationId;
use domain::money::Money;
use serde::Serialize;
use store::Shard;
use store::control::audit_log::AuditEvent;
use store::shard::credit::{self, Payment, PaymentDirection, PaymentResult};

use crate::admin::AdminContext;
use crate::admin::AdminFailure;
use crate::admin::argument;
use crate::admin::organization;
use crate::admin::printer::{AdminView, dollars};

#[derive(Debug, Subcommand)]
pub(super) enum CreditCommand {
    /// Add credit that the organization has paid for.
    Add(CreditArgs),
    /// Take credit out; credit that is held for open cargo stays.
    Withdraw(CreditArgs),
}

#[derive(Debug, Args)]
pub(super) struct CreditArgs {
    #[arg(value_parser = argument::id::<domain::id::OrganizationKind>)]
    id: OrganizationId,
    /// Amount in dollars, such as 250 or 12.50; at most nine decimals.
    #[arg(value_name = "DOLLARS", value_parser = argument::dollars, allow_hyphen_values = true)]
    amount: Money,
    /// Unique reference of the payment, such as an invoice number; it is posted only once.
    #[arg(long, value_parser = argument::remark)]
    reference: Option<String>,
    /// Note for the account statement.
    #[arg(long, value_parser = argument::remark)]
    note: Option<String>,
}

pub(super) async fn run(
    command: CreditCommand,
    context: AdminContext<'_>,
) -> Result<String, AdminFailure> {
    let (direction, args) = match command {
        CreditCommand::Add(args) => (PaymentDirection::In, args),
        CreditCommand::Withdraw(args) => (PaymentDirection::Out, args),
    };
    let (_, shard) = organization::find_with_shard(args.id, context).await?;
    let payment = Payment {
        amount: args.amount,
        direction,
        reference: args.reference,
        note: args.note,
    };
    record(args.id, &payment, context).await?;
    let view = pay(shard, args.id, payment).await?;
    context.printer.render_one(&view)
}

/// The ledger says whether the amount was posted; the audit log says that it was asked for.
async fn record(
    organization: OrganizationId,
    payment: &Payment,
    context: AdminContext<'_>,
) -> Result<(), AdminFailure> {
    let event = AuditEvent {
        organization: Some(organization),
        action: match payment.direction {
            PaymentDirection::In => "credit.added",
            PaymentDirection::Out => "credit.withdrawn",
        },
        subject: dollars(payment.amount),
        detail: payment.reference.clone().unwrap_or_default(),
        ..AuditEvent::default()
    };
    context.record(event).await
}

async fn pay(
    shard: &Shard,
    organization: OrganizationId,
    payment: Payment,
) -> Result<CreditView, AdminFailure> {
    let failed = |source| AdminFailure::ShardFailed {
        shard: shard.name.to_string(),
        source,
    };
    // Postings carry the shard's time.
    let now = store::doctor::read_server_time(&shard.pool)
        .await
        .map_err(failed)?;
    let paid = credit::pay(shard, organization, &payment, now).await;
    let paid = paid.map_err(|source| AdminFailure::PaymentUnconfirmed {
        organization,
        shard: shard.name.to_string(),
        source,
    })?;
    match paid {
        PaymentResult::Posted { number, balance } => {
            Ok(CreditView::new(organization, payment, number, balance))
        }
        PaymentResult::AlreadyPosted { number, balance } => Ok(CreditView {
            repeated: true,
            ..CreditView::new(organization, payment, number, balance)
        }),
        PaymentResult::ReferenceUsed { number } => Err(AdminFailure::ReferenceUsed {
            organization,
            reference: payment.reference.unwrap_or_default(),
            number,
        }),
        PaymentResult::InsufficientCredit { available } => {
            Err(AdminFailure::InsufficientCredit { available })
        }
        PaymentResult::BalanceOverflow => Err(AdminFailure::BalanceOverflow),
        PaymentResult::NoAccount => Err(AdminFailure::NoAccount {
            organization,
            shard: shard.name.to_string(),
        }),
    }
}

#[derive(Debug, Serialize)]
pub(super) struct CreditView {
    organization_id: String,
    posting: u64,
    kind: &'static str,
    amount: i64,
    /// The organization's credit after this posting.
    balance: i64,
    currency: &'static str,
    scale: u8,
    reference: Option<String>,
    note: Option<String>,
    /// Whether the payment was posted before, under this reference.
    repeated: bool,
}

impl CreditView {
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
                PaymentDirection::In => "deposit",
                PaymentDirection::Out => "withdrawal",
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

impl AdminView for CreditView {
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

    fn note(&self) -> Option<&'static str> {
        self.repeated.then_some(
            "This reference was posted before: nothing changed. \
             The balance is the one after that posting.",
        )
    }
}
