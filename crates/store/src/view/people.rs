//! The people page: all people who may sign in, with their organizations.

use domain::id::PersonId;
use domain::time::Timestamp;

use crate::Control;
use crate::Error;

#[derive(Debug, Clone)]
pub struct PersonSummary {
    pub id: PersonId,
    pub name: String,
    pub email: String,
    pub is_operator: bool,
    pub is_active: bool,
    /// Whether they can sign in with a password.
    pub has_password: bool,
    pub created_at: Timestamp,
    /// When one of their open sessions was last used.
    pub seen_at: Option<Timestamp>,
    /// The names of up to five organizations, each with the role there.
    pub organizations: Vec<String>,
    pub memberships: i64,
}

/// Newest first, created before the given person.
pub async fn list(
    control: &Control,
    before: Option<PersonId>,
    limit: u32,
) -> Result<Vec<PersonSummary>, Error> {
    let rows = sqlx::query!(
        r#"select p.id, p.name, p.email, p.is_operator, p.is_active,
               p.password is not null as "has_password!", p.created_at,
               (select max(seen_at) from control.session where person = p.id) as seen_at,
               array(
                   select o.name || ' (' || m.role || ')'
                   from control.member m join control.organization o on o.id = m.organization
                   where m.person = p.id order by m.created_at limit 5
               ) as "organizations!",
               (select count(*) from control.member where person = p.id) as "memberships!"
           from control.person p
           where $1::uuid is null or p.id < $1
           order by p.id desc limit $2"#,
        before.map(PersonId::uuid),
        i64::from(limit)
    )
    .fetch_all(&control.pool)
    .await?;
    let found = rows.into_iter().map(|row| PersonSummary {
        id: row.id.into(),
        name: row.name,
        email: row.email,
        is_operator: row.is_operator,
        is_active: row.is_active,
        has_password: row.has_password,
        created_at: row.created_at,
        seen_at: row.seen_at,
        organizations: row.organizations,
        memberships: row.memberships,
    });
    Ok(found.collect())
}
