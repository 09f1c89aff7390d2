//! What `GET /cargo` shows of a cargo besides its row: kind, group, metadata, usage, cost and error.

use std::collections::HashMap;

use domain::id::{CargoId, GroupId, ProjectId};
use domain::model::ModelKind;
use domain::money::Money;
use domain::outcome::TokenUsage;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::body::PackedBody;
use crate::encryption::{ContentKind, KeyRequest, ReadKeys, ValueIdentity};
use crate::number::unsigned;
use crate::shard::project_keys::read_keys;
use crate::shard::waiting::id_bounds;

#[derive(Debug)]
pub struct CargoSummary {
    pub kind: ModelKind,
    pub attempt: u32,
    pub group: Option<GroupId>,
    pub custom_id: Option<String>,
    /// JSON.
    pub metadata: Option<Vec<u8>>,
    /// None until it is completed.
    pub result: Option<CargoResult>,
}

/// How a cargo ended, without the model's answer.
#[derive(Debug)]
pub struct CargoResult {
    pub usage: TokenUsage,
    pub charged: Money,
    /// None if it failed, was free, or had no known realtime price.
    pub realtime: Option<Money>,
    /// Of a failure that is not erased.
    pub error: Option<String>,
    /// Of a failure; None if an earlier version stored it.
    pub error_code: Option<String>,
}

struct Row {
    id: Uuid,
    kind: String,
    attempt: i32,
    group_id: Option<Uuid>,
    is_erased: bool,
    metadata: Option<Vec<u8>>,
    custom_id: Option<String>,
    success: Option<bool>,
    input_tokens: Option<i64>,
    output_tokens: Option<i64>,
    charged: Option<i64>,
    realtime: Option<i64>,
    failure_code: Option<String>,
    codec: Option<i16>,
    bytes: Option<Vec<u8>>,
}

/// The summaries of a page of cargo, which all belong to the project.
pub async fn list(
    shard: &Shard,
    project: ProjectId,
    cargo: &[CargoId],
) -> Result<HashMap<CargoId, CargoSummary>, Error> {
    if cargo.is_empty() {
        return Ok(HashMap::new());
    }
    let ids: Vec<Uuid> = cargo.iter().map(|id| id.uuid()).collect();
    let (first, last) = id_bounds(&ids);
    let rows = sqlx::query_as!(
        Row,
        r#"select c.id, l.kind, c.attempt, c.group_id, c.erased_at is not null as "is_erased!",
               r.metadata as "metadata?", r.custom_id as "custom_id?",
               o.success as "success?", o.input_tokens as "input_tokens?",
               o.output_tokens as "output_tokens?", o.charged as "charged?",
               o.realtime as "realtime?", o.failure_code as "failure_code?",
               -- Answers are large, and not shown.
               case when not o.success then o.codec end as "codec?",
               case when not o.success then o.body end as "bytes?"
           from shard.cargo c
           join shard.lane l on l.id = c.lane
           -- With a limit these are lookups by index, whatever the estimates.
           left join lateral (select metadata, custom_id from shard.request
               where cargo = c.id and cargo >= $2 and cargo <= $3 limit 1) r on true
           left join lateral (select success, input_tokens, output_tokens, charged, realtime,
                   failure_code, codec, body
               from shard.outcome
               where cargo = c.id and cargo >= $2 and cargo <= $3 limit 1) o on true
           where c.id = any($1) and c.id >= $2 and c.id <= $3 and c.project = $4"#,
        &ids,
        first,
        last,
        project.uuid()
    )
    .fetch_all(&shard.reads)
    .await?;
    let mut request = KeyRequest::default();
    for row in &rows {
        request.add(project, row.metadata.as_deref());
        request.add(project, row.bytes.as_deref());
        request.add_text(project, row.custom_id.as_deref());
    }
    let keys = read_keys(shard, &request).await?;
    let summaries = rows.into_iter().map(|row| {
        let id = CargoId::from(row.id);
        Ok((id, row.into_summary(&keys, project)?))
    });
    summaries.collect()
}

impl Row {
    fn into_summary(self, keys: &ReadKeys, project: ProjectId) -> Result<CargoSummary, Error> {
        let row = self.id;
        let identity = |kind| ValueIdentity { project, row, kind };
        let custom_id = self.custom_id;
        let custom_id = custom_id.map(|it| keys.decrypt_text(identity(ContentKind::CustomId), it));
        let metadata = keys.decrypt_json(identity(ContentKind::RequestMetadata), self.metadata)?;
        let error = match (self.codec, self.bytes) {
            (Some(codec), Some(bytes)) if !self.is_erased => {
                let body = PackedBody { codec, bytes };
                let body = body.decrypt(keys, identity(ContentKind::Outcome))?;
                let text = body.unpack("outcome")?;
                Some(String::from_utf8_lossy(&text).into_owned())
            }
            _ => None,
        };
        let result = self.success.map(|_| CargoResult {
            usage: TokenUsage {
                input_tokens: unsigned(self.input_tokens.unwrap_or_default()),
                output_tokens: unsigned(self.output_tokens.unwrap_or_default()),
            },
            charged: self.charged.map_or(Money::ZERO, Money),
            realtime: self.realtime.map(Money),
            error,
            error_code: self.failure_code,
        });
        Ok(CargoSummary {
            kind: ModelKind::parse(&self.kind).ok_or(Error::Corrupt {
                table: "lane",
                column: "kind",
            })?,
            attempt: u32::try_from(self.attempt).unwrap_or(1),
            group: self.group_id.map(GroupId::from),
            custom_id: custom_id.transpose()?,
            metadata,
            result,
        })
    }
}
