//! A person's memberships: which organizations and projects they may open, and with which role.

use domain::id::{Berth, OrganizationId, PersonId, ProjectId};
use domain::organization::Plan;
use domain::person::Role;
use domain::project::Slug;
use uuid::Uuid;

use crate::Control;
use crate::Error;
use crate::control::berth;
use crate::control::member::role_from_row;
use crate::control::organization::plan_from_row;

/// An organization, and optionally one of its projects, with a person's role there.
#[derive(Debug, Clone)]
pub struct Scope {
    pub organization: OrganizationId,
    pub organization_name: String,
    pub plan: Plan,
    pub berth: Berth,
    /// The shard of its rows.
    pub shard: String,
    /// None if the person is not a member.
    pub role: Option<Role>,
    pub project: Option<ScopeProject>,
    /// Whether the organization opens only in sessions with a second factor.
    pub requires_second_factor: bool,
}

#[derive(Debug, Clone)]
pub struct ScopeProject {
    pub id: ProjectId,
    pub slug: String,
    pub is_active: bool,
}

/// A project or an empty organization that a person can choose.
#[derive(Debug, Clone)]
pub struct ScopeChoice {
    pub organization: OrganizationId,
    pub organization_name: String,
    pub slug: Option<String>,
}

/// The scope of a project's slug in a URL.
pub async fn find_in_project(
    control: &Control,
    person: PersonId,
    slug: &Slug,
) -> Result<Option<Scope>, Error> {
    let row = sqlx::query_as!(
        Row,
        r#"select o.id, o.name, o.plan, o.berth, o.requires_second_factor, b.shard,
               m.role as "role?", p.id as "project?", p.slug as "slug?", p.is_active as "is_active?"
           from control.project p
           join control.organization o on o.id = p.organization_id
           join control.berth b on b.number = o.berth
           left join control.member m on m.organization = o.id and m.person = $1
           where p.slug = $2 and p.erased_at is null"#,
        person.uuid(),
        slug.as_str()
    )
    .fetch_optional(&control.pool)
    .await?;
    row.map(Scope::try_from).transpose()
}

pub async fn find_in_organization(
    control: &Control,
    person: PersonId,
    organization: OrganizationId,
) -> Result<Option<Scope>, Error> {
    let row = sqlx::query_as!(
        Row,
        r#"select o.id, o.name, o.plan, o.berth, o.requires_second_factor, b.shard,
               m.role as "role?", null::uuid as "project?", null::text as "slug?", null::bool as "is_active?"
           from control.organization o
           join control.berth b on b.number = o.berth
           left join control.member m on m.organization = o.id and m.person = $1
           where o.id = $2"#,
        person.uuid(),
        organization.uuid()
    )
    .fetch_optional(&control.pool)
    .await?;
    row.map(Scope::try_from).transpose()
}

/// Everything that a person may open. For an operator: the newest organizations of all.
pub async fn list_choices(
    control: &Control,
    person: PersonId,
    is_operator: bool,
    limit: u32,
) -> Result<Vec<ScopeChoice>, Error> {
    if is_operator {
        let rows = sqlx::query_as!(
            ScopeChoiceRow,
            r#"select o.id as organization, o.name as organization_name, p.slug as "slug?"
               from (select id, name from control.organization order by id desc limit $1) o
               left join control.project p on p.organization_id = o.id and p.erased_at is null
               order by o.name, p.slug limit $1"#,
            i64::from(limit)
        );
        let rows = rows.fetch_all(&control.pool).await?;
        return Ok(rows.into_iter().map(ScopeChoice::from).collect());
    }
    let rows = sqlx::query_as!(
        ScopeChoiceRow,
        r#"select o.id as organization, o.name as organization_name, p.slug as "slug?"
           from control.member m
           join control.organization o on o.id = m.organization
           left join control.project p on p.organization_id = o.id and p.erased_at is null
           where m.person = $1 order by o.name, p.slug limit $2"#,
        person.uuid(),
        i64::from(limit)
    );
    let rows = rows.fetch_all(&control.pool).await?;
    Ok(rows.into_iter().map(ScopeChoice::from).collect())
}

struct ScopeChoiceRow {
    organization: Uuid,
    organization_name: String,
    slug: Option<String>,
}

impl From<ScopeChoiceRow> for ScopeChoice {
    fn from(row: ScopeChoiceRow) -> Self {
        Self {
            organization: row.organization.into(),
            organization_name: row.organization_name,
            slug: row.slug,
        }
    }
}

struct Row {
    id: Uuid,
    name: String,
    plan: String,
    berth: i16,
    shard: String,
    role: Option<String>,
    project: Option<Uuid>,
    slug: Option<String>,
    is_active: Option<bool>,
    requires_second_factor: bool,
}

impl TryFrom<Row> for Scope {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self, Error> {
        let project = row.project.zip(row.slug);
        let is_active = row.is_active.unwrap_or_default();
        Ok(Self {
            organization: row.id.into(),
            organization_name: row.name,
            plan: plan_from_row(&row.plan)?,
            berth: berth::from_row(row.berth, "control.organization")?,
            shard: row.shard,
            requires_second_factor: row.requires_second_factor,
            role: row.role.as_deref().map(role_from_row).transpose()?,
            project: project.map(|(id, slug)| ScopeProject {
                id: id.into(),
                slug,
                is_active,
            }),
        })
    }
}
