//! An index of failures by project, for the dashboard. The row of a failed callback is deleted when
//! a resend delivers it.

use sqlx::types::Uuid;

use crate::Error;
use crate::Transaction;
use crate::shard::waiting::id_bounds;

/// What failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// The outcome is an error. The label is the error's group.
    Failed,
    /// The callback failed (retries exhausted). The label is the host.
    CallbackFailed,
}

impl FailureKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::CallbackFailed => "callback_failed",
        }
    }
}

/// Failures of one kind, as arrays of columns.
#[derive(Debug, Default)]
pub(crate) struct NewFailures {
    project: Vec<Uuid>,
    cargo: Vec<Uuid>,
    label: Vec<String>,
}

impl NewFailures {
    pub(crate) fn add(&mut self, project: Uuid, cargo: Uuid, label: String) {
        self.project.push(project);
        self.cargo.push(cargo);
        self.label.push(label);
    }

    pub(crate) async fn insert(
        &self,
        tx: &mut Transaction,
        kind: FailureKind,
    ) -> Result<(), Error> {
        if self.cargo.is_empty() {
            return Ok(());
        }
        sqlx::query!(
            "insert into shard.trouble (project, kind, cargo, label)
             select project, $1, cargo, label
             from unnest($2::uuid[], $3::uuid[], $4::text[]) as noted (project, cargo, label)
             on conflict do nothing",
            kind.as_str(),
            &self.project,
            &self.cargo,
            &self.label
        )
        .execute(&mut **tx)
        .await?;
        Ok(())
    }
}

/// Deletes the failures of callbacks that a resend delivered, by project and cargo.
pub(crate) async fn delete_callback_failures(
    tx: &mut Transaction,
    delivered: &[(Uuid, Uuid)],
) -> Result<(), Error> {
    if delivered.is_empty() {
        return Ok(());
    }
    let (project, cargo): (Vec<Uuid>, Vec<Uuid>) = delivered.iter().copied().unzip();
    let (first, last) = id_bounds(&cargo);
    sqlx::query!(
        "delete from shard.trouble t
         using unnest($1::uuid[], $2::uuid[]) as repaired (project, cargo)
         where t.project = repaired.project and t.kind = 'callback_failed'
             and t.cargo = repaired.cargo and t.cargo >= $3 and t.cargo <= $4",
        &project,
        &cargo,
        first,
        last
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}
