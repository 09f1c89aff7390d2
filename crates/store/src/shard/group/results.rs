//! The results of a group, in the order of positions or of completion.

use std::collections::HashMap;

use domain::id::{CargoId, GroupId, ProjectId};
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::body;
use crate::encryption::{ContentKind, KeyRequest, ValueIdentity};
use crate::number::{signed, unsigned};
use crate::shard::group::result_body::{ResultBodies, read_bodies};
use crate::shard::project_keys::read_keys;
use crate::shard::tracking::StoredOutcome;
use crate::shard::waiting::id_bounds;

/// The unpacked bodies of one page, unless a single one is larger.
const MAX_PAGE_BYTES: usize = 8 << 20;

/// Which results to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupResultQuery {
    /// Results after this number or position. None: from the first.
    pub after: Option<u64>,
    /// Fewer are read if they are large.
    pub limit: u32,
    /// Whether the params of the loads are read too.
    pub with_params: bool,
}

/// One cargo of a group.
#[derive(Debug)]
pub struct GroupResultRow {
    /// The place in the order of completion, from 1 without a gap. None if it is not completed.
    pub number: Option<u64>,
    pub position: u64,
    /// None if the load named none: then it is the position as text.
    pub custom_id: Option<String>,
    pub cargo: CargoId,
    pub model: String,
    pub created_at: Timestamp,
    pub completed_at: Option<Timestamp>,
    /// None if it is not completed.
    pub outcome: Option<StoredOutcome>,
    /// When its bodies were erased: that of the outcome is empty then.
    pub erased_at: Option<Timestamp>,
    /// JSON, as the caller sent it.
    pub metadata: Option<Vec<u8>>,
    /// JSON; only if asked for.
    pub params: Option<Vec<u8>>,
}

/// Cargo of a group by position, also cargo that is not completed. Empty: there is none after
/// `after`.
pub async fn results_by_position(
    shard: &Shard,
    project: ProjectId,
    group: GroupId,
    query: GroupResultQuery,
) -> Result<Vec<GroupResultRow>, Error> {
    let mut after = query.after.map_or(-1, signed);
    loop {
        let page = sqlx::query_as!(
            MemberPlace,
            r#"select m.position, r.number as "number?", m.cargo
               from shard.group_member m
               left join shard.group_result r
                   on r.group_id = m.group_id and r.position = m.position
               where m.group_id = $1 and m.position > $2
               order by m.position limit $3"#,
            group.uuid(),
            after,
            i64::from(query.limit)
        )
        .fetch_all(&shard.reads)
        .await?;
        let Some(last) = page.last() else {
            return Ok(Vec::new());
        };
        after = last.position;
        let rows = read_results(shard, project, page, query.with_params).await?;
        // The days of the whole page may have been dropped.
        if !rows.is_empty() {
            return Ok(rows);
        }
    }
}

/// Completed cargo of a group in the order of completion. Empty: no more is completed.
pub async fn results_by_number(
    shard: &Shard,
    project: ProjectId,
    group: GroupId,
    query: GroupResultQuery,
) -> Result<Vec<GroupResultRow>, Error> {
    let mut after = query.after.map_or(0, signed);
    loop {
        let page = sqlx::query_as!(
            MemberPlace,
            r#"select position, number as "number?", cargo from shard.group_result
               where group_id = $1 and number > $2 order by number limit $3"#,
            group.uuid(),
            after,
            i64::from(query.limit)
        )
        .fetch_all(&shard.reads)
        .await?;
        let Some(last) = page.last().and_then(|last| last.number) else {
            return Ok(Vec::new());
        };
        after = last;
        let rows = read_results(shard, project, page, query.with_params).await?;
        if !rows.is_empty() {
            return Ok(rows);
        }
    }
}

/// A cargo of a page.
struct MemberPlace {
    position: i64,
    number: Option<i64>,
    cargo: Uuid,
}

/// The rows of a cargo without the bodies.
struct ResultHead {
    cargo: Uuid,
    model: String,
    created_at: Timestamp,
    completed_at: Option<Timestamp>,
    erased_at: Option<Timestamp>,
    metadata: Option<Vec<u8>>,
    custom_id: Option<String>,
    request_codec: i16,
    request_bytes: i32,
    request_start: Vec<u8>,
    outcome_codec: Option<i16>,
    outcome_bytes: Option<i32>,
    outcome_start: Option<Vec<u8>>,
}

impl ResultHead {
    /// The size of what is read for it, unpacked.
    fn unpacked_bytes(&self, with_params: bool) -> usize {
        let size = |codec, start: &[u8], length: i32| {
            let length = usize::try_from(length).unwrap_or_default();
            body::unpacked_size(codec, start, length).unwrap_or_default()
        };
        let params = if with_params {
            size(self.request_codec, &self.request_start, self.request_bytes)
        } else {
            0
        };
        let start = self.outcome_start.as_deref().unwrap_or_default();
        let outcome = self.outcome_codec.zip(self.outcome_bytes);
        params + outcome.map_or(0, |(codec, length)| size(codec, start, length))
    }
}

/// The first cargo of a page whose bodies fit into memory together.
async fn read_results(
    shard: &Shard,
    project: ProjectId,
    page: Vec<MemberPlace>,
    with_params: bool,
) -> Result<Vec<GroupResultRow>, Error> {
    let ids: Vec<Uuid> = page.iter().map(|place| place.cargo).collect();
    let mut heads = read_heads(shard, project, &ids).await?;
    let mut chosen = Vec::with_capacity(page.len());
    let mut bytes = 0;
    for place in page {
        let Some(head) = heads.remove(&place.cargo) else {
            continue;
        };
        bytes += head.unpacked_bytes(with_params);
        if bytes > MAX_PAGE_BYTES && !chosen.is_empty() {
            break;
        }
        chosen.push((place, head));
    }
    let ids: Vec<Uuid> = chosen.iter().map(|(place, _)| place.cargo).collect();
    let bodies = read_bodies(shard, project, &ids, with_params).await?;
    join_results(shard, project, chosen, bodies).await
}

async fn read_heads(
    shard: &Shard,
    project: ProjectId,
    cargo: &[Uuid],
) -> Result<HashMap<Uuid, ResultHead>, Error> {
    let (first, last) = id_bounds(cargo);
    let rows = sqlx::query_as!(
        ResultHead,
        r#"select c.id as cargo, c.model, c.created_at, c.completed_at, c.erased_at, r.metadata,
               r.custom_id, r.codec as request_codec, octet_length(r.body) as "request_bytes!",
               -- The head of a frame, or of an encrypted value, tells its unpacked size.
               substring(r.body from 1 for 18) as "request_start!",
               o.codec as "outcome_codec?", octet_length(o.body) as outcome_bytes,
               substring(o.body from 1 for 18) as outcome_start
           from shard.cargo c
           -- With a limit these are lookups by index, whatever the estimates.
           join lateral (select metadata, custom_id, codec, body from shard.request
               where cargo = c.id and cargo >= $3 and cargo <= $4 limit 1) r on true
           left join lateral (select codec, body from shard.outcome
               where cargo = c.id and cargo >= $3 and cargo <= $4 limit 1) o on true
           where c.id = any($1) and c.project = $2 and c.id >= $3 and c.id <= $4"#,
        cargo,
        project.uuid(),
        first,
        last
    )
    .fetch_all(&shard.reads)
    .await?;
    Ok(rows.into_iter().map(|row| (row.cargo, row)).collect())
}

/// Decrypts names and metadata, and adds the bodies.
async fn join_results(
    shard: &Shard,
    project: ProjectId,
    chosen: Vec<(MemberPlace, ResultHead)>,
    mut bodies: ResultBodies,
) -> Result<Vec<GroupResultRow>, Error> {
    let mut request = KeyRequest::default();
    for (_, head) in &chosen {
        request.add(project, head.metadata.as_deref());
        request.add_text(project, head.custom_id.as_deref());
    }
    let keys = read_keys(shard, &request).await?;
    let rows = chosen.into_iter().map(|(place, head)| {
        let row = place.cargo;
        let identity = |kind| ValueIdentity { project, row, kind };
        let custom_id = head.custom_id;
        let custom_id = custom_id.map(|it| keys.decrypt_text(identity(ContentKind::CustomId), it));
        let outcome = bodies.outcomes.remove(&row);
        Ok(GroupResultRow {
            number: place.number.map(unsigned),
            position: unsigned(place.position),
            custom_id: custom_id.transpose()?,
            cargo: row.into(),
            model: head.model,
            created_at: head.created_at,
            // It may have ended since the page was read: then the next read has it.
            completed_at: place.number.and(head.completed_at),
            outcome: place.number.and(outcome),
            erased_at: head.erased_at,
            metadata: keys.decrypt_json(identity(ContentKind::RequestMetadata), head.metadata)?,
            params: bodies.params.remove(&row),
        })
    });
    rows.collect()
}
