//! A new group, or the one that has its name already.

use domain::callback_url::CallbackUrl;
use domain::cargo_group::{GroupName, MAX_OPEN_GROUPS};
use domain::id::{GroupId, OrganizationId, ProjectId};
use domain::time::Timestamp;

use crate::Error;
use crate::Shard;
use crate::encryption::{ContentKind, ValueIdentity, WriteKey};
use crate::number::{signed, unsigned};
use crate::shard::group::row::{GroupRow, groups, read_group};
use crate::shard::project_keys::write_keys;

#[derive(Debug, Clone)]
pub struct NewGroup {
    pub id: GroupId,
    pub organization: OrganizationId,
    pub project: ProjectId,
    /// Where the caller gave none, the id as text.
    pub name: GroupName,
    /// JSON, as the caller sent it.
    pub metadata: Option<Vec<u8>>,
    pub callback: Option<CallbackUrl>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupCreation {
    Created(GroupRow),
    /// The project has a group of this name.
    Existing(GroupRow),
    /// The project has `MAX_OPEN_GROUPS` groups that are not completed.
    TooMany,
}

/// How many values of a group are encrypted: its metadata and its callback URL.
const ENCRYPTED_VALUES: u64 = 2;

/// Creates a group, unless the project has one of this name. Concurrent calls may exceed the limit
/// by their number.
pub async fn create(shard: &Shard, new: &NewGroup, now: Timestamp) -> Result<GroupCreation, Error> {
    if let Some(group) = find_by_name(shard, new).await? {
        return Ok(GroupCreation::Existing(group));
    }
    if count_unfinished(shard, new.project).await? >= MAX_OPEN_GROUPS {
        return Ok(GroupCreation::TooMany);
    }
    let keys = write_keys(shard, [(new.project, ENCRYPTED_VALUES)]).await?;
    let texts = GroupTexts::of(new, keys.find(new.project)?)?;
    let row = groups!(
        "g as (
             insert into shard.cargo_group (id, organization, project, name, metadata,
                 callback_url, callback_host, created_at)
             values ($1, $2, $3, $4, $5, $6, $7, $8)
             on conflict (project, name) do nothing
             returning *
         )",
        new.id.uuid(),
        new.organization.uuid(),
        new.project.uuid(),
        new.name.as_str(),
        texts.metadata.as_deref(),
        texts.callback_url.as_deref(),
        new.callback.as_ref().map(CallbackUrl::host),
        now
    )
    .fetch_optional(&shard.pool)
    .await?;
    if let Some(group) = read_group(shard, row).await? {
        return Ok(GroupCreation::Created(group));
    }
    // Another request created it first.
    let existing = find_by_name(shard, new).await?.ok_or(Error::Fenced)?;
    Ok(GroupCreation::Existing(existing))
}

async fn find_by_name(shard: &Shard, new: &NewGroup) -> Result<Option<GroupRow>, Error> {
    let row = groups!(
        "g as (select * from shard.cargo_group where project = $1 and name = $2)",
        new.project.uuid(),
        new.name.as_str()
    )
    .fetch_optional(&shard.pool)
    .await?;
    read_group(shard, row).await
}

/// How many groups of a project are not completed, counted up to the limit.
pub(crate) async fn count_unfinished(shard: &Shard, project: ProjectId) -> Result<u64, Error> {
    let count = sqlx::query_scalar!(
        r#"select count(*) as "count!" from (
               select from shard.cargo_group where project = $1 and completed_at is null limit $2
           ) as unfinished"#,
        project.uuid(),
        signed(MAX_OPEN_GROUPS)
    )
    .fetch_one(&shard.pool)
    .await?;
    Ok(unsigned(count))
}

/// Metadata and callback URL as they are stored.
struct GroupTexts {
    metadata: Option<Vec<u8>>,
    callback_url: Option<String>,
}

impl GroupTexts {
    fn of(new: &NewGroup, key: &WriteKey) -> Result<Self, Error> {
        let (project, row) = (new.project, new.id.uuid());
        let identity = |kind| ValueIdentity { project, row, kind };
        let metadata = new.metadata.clone();
        let metadata = metadata.map(|it| key.encrypt(identity(ContentKind::GroupMetadata), it));
        let url = new.callback.as_ref().map(|url| url.as_str().to_owned());
        let url = url.map(|it| key.encrypt_text(identity(ContentKind::GroupCallbackUrl), it));
        Ok(Self {
            metadata: metadata.transpose()?,
            callback_url: url.transpose()?,
        })
    }
}
