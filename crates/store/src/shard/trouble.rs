//! What went wrong, noted beside the rows that say how, and forgotten when it is mended.

use sqlx::types::Uuid;

use crate::Error;
use crate::Transaction;
use crate::shard::waiting::bounds;

/// What kind of trouble.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Its outcome is an error, labelled with the error's group.
    Failed,
    /// Its callback was given up, labelled with the host.
    CallbackFailed,
}

impl Kind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::CallbackFailed => "callback_failed",
        }
    }
}

/// Troubles of one kind, as columns.
#[derive(Debug, Default)]
pub(crate) struct Troubles {
    project: Vec<Uuid>,
    cargo: Vec<Uuid>,
    label: Vec<String>,
}

impl Troubles {
    pub(crate) fn add(&mut self, project: Uuid, cargo: Uuid, label: String) {
        self.project.push(project);
        self.cargo.push(cargo);
        self.label.push(label);
    }

    pub(crate) async fn note(&self, tx: &mut Transaction, kind: Kind) -> Result<(), Error> {
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

/// Callbacks that were delivered after all, by project and cargo.
pub(crate) async fn forget_callbacks(
    tx: &mut Transaction,
    delivered: &[(Uuid, Uuid)],
) -> Result<(), Error> {
    if delivered.is_empty() {
        return Ok(());
    }
    let (project, cargo): (Vec<Uuid>, Vec<Uuid>) = delivered.iter().copied().unzip();
    let (first, last) = bounds(&cargo);
    sqlx::query!(
        "delete from shard.trouble t
         using unnest($1::uuid[], $2::uuid[]) as mended (project, cargo)
         where t.project = mended.project and t.kind = 'callback_failed'
             and t.cargo = mended.cargo and t.cargo >= $3 and t.cargo <= $4",
        &project,
        &cargo,
        first,
        last
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}
