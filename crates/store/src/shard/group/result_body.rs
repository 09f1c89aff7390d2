//! The bodies of results: outcomes and, if asked for, the params of the loads.

use std::collections::HashMap;

use domain::id::ProjectId;
use domain::money::Money;
use domain::route::InferenceMode;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::body::PackedBody;
use crate::encryption::{ContentKind, KeyRequest, ReadKeys, ValueIdentity};
use crate::shard::project_keys::read_keys;
use crate::shard::stored_tokens::StoredTokens;
use crate::shard::tracking::StoredOutcome;
use crate::shard::waiting::id_bounds;

/// By cargo.
#[derive(Debug, Default)]
pub(super) struct ResultBodies {
    pub(super) outcomes: HashMap<Uuid, StoredOutcome>,
    pub(super) params: HashMap<Uuid, Vec<u8>>,
}

struct OutcomeRow {
    cargo: Uuid,
    success: bool,
    failure_code: Option<String>,
    codec: i16,
    body: Vec<u8>,
    tokens: StoredTokens,
    served: Option<String>,
    charged: Option<i64>,
    realtime: Option<i64>,
}

struct RequestRow {
    cargo: Uuid,
    codec: i16,
    body: Vec<u8>,
}

pub(super) async fn read_bodies(
    shard: &Shard,
    project: ProjectId,
    cargo: &[Uuid],
    with_params: bool,
) -> Result<ResultBodies, Error> {
    let outcomes = read_outcomes(shard, cargo).await?;
    let requests = if with_params {
        read_requests(shard, cargo).await?
    } else {
        Vec::new()
    };
    let mut request = KeyRequest::default();
    for row in &outcomes {
        request.add(project, Some(&row.body));
    }
    for row in &requests {
        request.add(project, Some(&row.body));
    }
    let keys = read_keys(shard, &request).await?;
    let mut bodies = ResultBodies::default();
    for row in outcomes {
        bodies
            .outcomes
            .insert(row.cargo, row.unpack(&keys, project)?);
    }
    for row in requests {
        let cargo = row.cargo;
        let params = row.unpack(&keys, project)?;
        // Erased.
        if !params.is_empty() {
            bodies.params.insert(cargo, params);
        }
    }
    Ok(bodies)
}

async fn read_outcomes(shard: &Shard, cargo: &[Uuid]) -> Result<Vec<OutcomeRow>, Error> {
    let (first, last) = id_bounds(cargo);
    let rows = sqlx::query!(
        "select cargo, success, failure_code, codec, body, input_tokens, output_tokens,
             cached_tokens, cache_write_tokens, cache_write_1h_tokens, thinking_tokens,
             served, charged, realtime
         from shard.outcome where cargo = any($1) and cargo >= $2 and cargo <= $3",
        cargo,
        first,
        last
    )
    .fetch_all(&shard.reads)
    .await?;
    let outcomes = rows.into_iter().map(|row| OutcomeRow {
        cargo: row.cargo,
        success: row.success,
        failure_code: row.failure_code,
        codec: row.codec,
        body: row.body,
        tokens: StoredTokens {
            input: Some(row.input_tokens),
            cached: row.cached_tokens,
            cache_write: row.cache_write_tokens,
            cache_write_1h: row.cache_write_1h_tokens,
            output: Some(row.output_tokens),
            thinking: row.thinking_tokens,
        },
        served: row.served,
        charged: row.charged,
        realtime: row.realtime,
    });
    Ok(outcomes.collect())
}

async fn read_requests(shard: &Shard, cargo: &[Uuid]) -> Result<Vec<RequestRow>, Error> {
    let (first, last) = id_bounds(cargo);
    let rows = sqlx::query_as!(
        RequestRow,
        "select cargo, codec, body from shard.request
         where cargo = any($1) and cargo >= $2 and cargo <= $3",
        cargo,
        first,
        last
    );
    Ok(rows.fetch_all(&shard.reads).await?)
}

impl OutcomeRow {
    fn unpack(self, keys: &ReadKeys, project: ProjectId) -> Result<StoredOutcome, Error> {
        let identity = ValueIdentity {
            project,
            row: self.cargo,
            kind: ContentKind::Outcome,
        };
        let body = PackedBody {
            codec: self.codec,
            bytes: self.body,
        };
        Ok(StoredOutcome {
            success: self.success,
            failure_code: self.failure_code,
            body: body.decrypt(keys, identity)?.unpack("outcome")?,
            usage: self.tokens.usage(),
            buckets: self.tokens.buckets(),
            served: self.served.as_deref().and_then(InferenceMode::parse),
            charged: self.charged.map_or(Money::ZERO, Money),
            realtime: self.realtime.map(Money),
        })
    }
}

impl RequestRow {
    fn unpack(self, keys: &ReadKeys, project: ProjectId) -> Result<Vec<u8>, Error> {
        let identity = ValueIdentity {
            project,
            row: self.cargo,
            kind: ContentKind::Request,
        };
        let body = PackedBody {
            codec: self.codec,
            bytes: self.body,
        };
        body.decrypt(keys, identity)?.unpack("request")
    }
}
