//! Removes names from the audit log. The log is append-only, and this is its one exception: what
//! happened stays, and when.

use domain::id::{OrganizationId, PersonId, ProjectId};
use domain::person::ERASED_PERSON;

use crate::Control;
use crate::Error;
use crate::Transaction;

/// How many ids one transaction covers.
const IDS_PER_TRANSACTION: i64 = 10_000;

/// Empties the subject and the detail of an organization's entries, or of a project's.
pub(super) async fn erase_subjects(
    control: &Control,
    organization: Option<OrganizationId>,
    project: Option<ProjectId>,
) -> Result<(), Error> {
    let last = read_last_id(control).await?;
    let mut after = 0;
    while after < last {
        let mut tx = begin_erasing(control).await?;
        sqlx::query!(
            "update control.audit set subject = '', detail = ''
             where id > $1 and id <= $2 and (organization = $3 or project = $4)
                 and (subject <> '' or detail <> '')
                 -- Their subject is an id.
                 and action not in ('project.erased', 'organization.erased')",
            after,
            after + IDS_PER_TRANSACTION,
            organization.map(OrganizationId::uuid),
            project.map(ProjectId::uuid)
        )
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        after += IDS_PER_TRANSACTION;
    }
    Ok(())
}

/// Makes a person anonymous, as the actor and as the subject of entries.
pub(super) async fn erase_person(
    control: &Control,
    person: PersonId,
    email: &str,
) -> Result<(), Error> {
    let last = read_last_id(control).await?;
    let mut after = 0;
    while after < last {
        let mut tx = begin_erasing(control).await?;
        sqlx::query!(
            "update control.audit set
                 person = nullif(person, $3),
                 who = case when person = $3 or lower(who) = lower($4) then $5 else who end,
                 -- Of the person, or of a sign-in with the person's e-mail address.
                 address = case
                     when person = $3 or lower(who) = lower($4) or action = 'session.refused'
                     then null else address end,
                 user_agent = case
                     when person = $3 or lower(who) = lower($4) or action = 'session.refused'
                     then null else user_agent end,
                 subject = case
                     when lower(subject) = lower($4) or (person = $3 and subject = who) then $5
                     else subject end
             where id > $1 and id <= $2
                 -- An identity provider may write the e-mail address in another case.
                 and (person = $3 or lower(who) = lower($4) or lower(subject) = lower($4))",
            after,
            after + IDS_PER_TRANSACTION,
            person.uuid(),
            email,
            ERASED_PERSON
        )
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        after += IDS_PER_TRANSACTION;
    }
    Ok(())
}

async fn read_last_id(control: &Control) -> Result<i64, Error> {
    let last = sqlx::query_scalar!(r#"select coalesce(max(id), 0) as "last!" from control.audit"#);
    Ok(last.fetch_one(&control.pool).await?)
}

/// A transaction that may update entries.
async fn begin_erasing(control: &Control) -> Result<Transaction, Error> {
    let mut tx = control.pool.begin().await?;
    sqlx::query_scalar!("select set_config('longshore.erasing', 'on', true)")
        .fetch_one(&mut *tx)
        .await?;
    Ok(tx)
}
