//! The tracking record of one cargo.

use domain::batch::{self, SubmissionDelay};
use domain::cargo::{CallbackState, CargoStatus};
use domain::id::{CargoId, GroupId, ProjectId};
use domain::model::ModelKind;
use domain::money::Money;
use domain::outcome::TokenUsage;
use domain::reason_code::FailureCode;
use domain::response_shape::ResponseShape;
use domain::route::InferenceMode;
use domain::time::Timestamp;
use domain::token_buckets::TokenBuckets;
use domain::waiting_status::{BatchProgress, CargoProgress, PausedLane, PausedProvider};
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::body::PackedBody;
use crate::encryption::{ContentKind, KeyRequest, ReadKeys, ValueIdentity};
use crate::number;
use crate::shard::project_keys::read_keys;
use crate::shard::stored_tokens::StoredTokens;

#[derive(Debug)]
pub struct TrackedCargo {
    pub status: CargoStatus,
    pub model: String,
    pub kind: ModelKind,
    pub attempt: u32,
    pub created_at: Timestamp,
    pub batched_at: Option<Timestamp>,
    pub processing_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    pub held: Money,
    pub outcome: Option<StoredOutcome>,
    pub callback: Option<TrackedCallback>,
    pub progress: CargoProgress,
    pub metadata: Option<Vec<u8>>,
    /// The warnings of its load as JSON.
    pub warnings: Option<Vec<u8>>,
    /// The caller's deadline.
    pub deadline_at: Option<Timestamp>,
    /// Why it takes its way; a code of `domain::route_choice`.
    pub route_reason: Option<String>,
    pub response_shape: ResponseShape,
    /// When its bodies were erased: the outcome's is empty then.
    pub erased_at: Option<Timestamp>,
    /// The caller's name for it.
    pub custom_id: Option<String>,
    pub group: Option<GroupId>,
    pub position: Option<u64>,
    /// When its caller first asked to cancel it.
    pub cancel_requested_at: Option<Timestamp>,
}

#[derive(Debug)]
pub struct StoredOutcome {
    pub success: bool,
    /// Of a failure; None if an earlier version stored it.
    pub failure_code: Option<String>,
    pub body: Vec<u8>,
    pub usage: TokenUsage,
    /// The same tokens by price. An earlier version stored no parts.
    pub buckets: TokenBuckets,
    /// The way by which the provider served it, if it is known.
    pub served: Option<InferenceMode>,
    pub charged: Money,
    /// None if it failed, was free, or had no known realtime price.
    pub realtime: Option<Money>,
}

impl StoredOutcome {
    /// The caller cancelled it before a provider had it.
    pub fn is_cancelled(&self) -> bool {
        self.failure_code.as_deref() == Some(FailureCode::Cancelled.as_str())
    }
}

#[derive(Debug)]
pub struct TrackedCallback {
    pub url: String,
    pub attempts: u32,
    pub last_attempt_at: Option<Timestamp>,
    pub last_status_code: Option<u16>,
    pub last_error: Option<String>,
    pub next_attempt_at: Option<Timestamp>,
    pub delivered_at: Option<Timestamp>,
}

/// The record of a cargo, if it belongs to the project.
pub async fn find(
    shard: &Shard,
    project: ProjectId,
    cargo: CargoId,
) -> Result<Option<TrackedCargo>, Error> {
    let row = sqlx::query_as!(
        Row,
        r#"select c.model, l.kind, l.via, l.turnaround_seconds, p.reason as "paused?",
               p.paused_at, p.retry_at, l.paused_at as lane_paused_at, l.pause_reason,
               c.attempt, c.created_at, c.returned_at, c.completed_at, c.erased_at,
               c.cancel_requested_at,
               case when c.batch is null and c.returned_at is not null then (
                   select w.due_at from shard.waiting w
                   where w.lane = c.lane and w.organization = c.organization and w.cargo = c.id
               ) end as rests_until, c.callback_url,
               c.callback_state, c.callback_ended_at, c.held,
               b.state as "batch_state?", b.gathered_at as "gathered_at?", b.running_at,
               b.next_poll_at, b.cancel_wanted_at, b.delay, b.node is not null as "is_claimed!",
               -- In the hands of a worker it is still being sent, unless it was looked for before.
               case when b.node is null or b.looks > 0 then b.sent_at end as unknown_since,
               c.deadline_at, c.route_reason, c.response_shape, r.metadata, r.warnings,
               r.custom_id, c.group_id, c.group_position,
               o.success as "success?", o.codec as "codec?", o.body as "bytes?",
               o.input_tokens as "input_tokens?", o.output_tokens as "output_tokens?",
               o.cached_tokens, o.cache_write_tokens, o.cache_write_1h_tokens, o.thinking_tokens,
               o.served, o.charged, o.realtime, o.failure_code,
               d.due_at as "due_at?",
               a.number as "number?", a.started_at as "started_at?", a.status, a.error
           from shard.cargo c
           join shard.lane l on l.id = c.lane
           left join shard.provider p on p.name = l.provider and p.paused_at is not null
           join shard.request r on r.cargo = $1
           left join shard.batch b on b.id = c.batch
           left join shard.outcome o on o.cargo = $1
           left join shard.delivery d on d.cargo = $1
           left join lateral (
               select number, started_at, status, error from shard.attempt
               where cargo = $1 order by number desc limit 1
           ) a on true
           where c.id = $1 and c.project = $2"#,
        cargo.uuid(),
        project.uuid()
    )
    .fetch_optional(&shard.reads)
    .await?;
    let Some(mut row) = row else {
        return Ok(None);
    };
    let keys = read_keys(shard, &row.key_request(project)).await?;
    row.decrypt(&keys, project, cargo)?;
    TrackedCargo::try_from(row).map(Some)
}

/// The first cargo at or after an id, and its project.
pub async fn find_at_or_after(
    shard: &Shard,
    id: Uuid,
) -> Result<Option<(CargoId, ProjectId)>, Error> {
    let row = sqlx::query!(
        "select id, project from shard.cargo where id >= $1 order by id limit 1",
        id
    )
    .fetch_optional(&shard.reads)
    .await?;
    Ok(row.map(|row| (row.id.into(), row.project.into())))
}

/// The rows of one cargo, joined.
struct Row {
    model: String,
    kind: String,
    via: String,
    turnaround_seconds: Option<f64>,
    paused: Option<String>,
    paused_at: Option<Timestamp>,
    retry_at: Option<Timestamp>,
    lane_paused_at: Option<Timestamp>,
    pause_reason: Option<String>,
    attempt: i32,
    created_at: Timestamp,
    returned_at: Option<Timestamp>,
    rests_until: Option<Timestamp>,
    completed_at: Option<Timestamp>,
    erased_at: Option<Timestamp>,
    cancel_requested_at: Option<Timestamp>,
    callback_url: Option<String>,
    callback_state: String,
    callback_ended_at: Option<Timestamp>,
    held: Option<i64>,
    batch_state: Option<String>,
    gathered_at: Option<Timestamp>,
    running_at: Option<Timestamp>,
    next_poll_at: Option<Timestamp>,
    cancel_wanted_at: Option<Timestamp>,
    delay: Option<String>,
    is_claimed: bool,
    unknown_since: Option<Timestamp>,
    deadline_at: Option<Timestamp>,
    route_reason: Option<String>,
    response_shape: i16,
    metadata: Option<Vec<u8>>,
    warnings: Option<Vec<u8>>,
    custom_id: Option<String>,
    group_id: Option<Uuid>,
    group_position: Option<i64>,
    success: Option<bool>,
    codec: Option<i16>,
    bytes: Option<Vec<u8>>,
    input_tokens: Option<i64>,
    output_tokens: Option<i64>,
    cached_tokens: Option<i64>,
    cache_write_tokens: Option<i64>,
    cache_write_1h_tokens: Option<i64>,
    thinking_tokens: Option<i64>,
    served: Option<String>,
    charged: Option<i64>,
    realtime: Option<i64>,
    failure_code: Option<String>,
    due_at: Option<Timestamp>,
    number: Option<i16>,
    started_at: Option<Timestamp>,
    status: Option<i16>,
    error: Option<String>,
}

impl TryFrom<Row> for TrackedCargo {
    type Error = Error;

    fn try_from(mut row: Row) -> Result<Self, Error> {
        let batch_state = row
            .batch_state
            .as_deref()
            .map(parse_batch_state)
            .transpose()?;
        let callback_state = parse_callback_state(&row.callback_state);
        let completed = row.completed_at.map(|_| callback_state);
        Ok(Self {
            status: CargoStatus::from_rows(batch_state, completed),
            kind: ModelKind::parse(&row.kind).ok_or(corrupt("lane", "kind"))?,
            attempt: u32::try_from(row.attempt).unwrap_or(1),
            created_at: row.created_at,
            batched_at: row.gathered_at,
            processing_at: row.running_at,
            completed_at: row.completed_at,
            held: row.held.map_or(Money::ZERO, Money),
            outcome: row.outcome()?,
            callback: row.callback(callback_state),
            progress: row.progress(batch_state)?,
            model: row.model,
            metadata: row.metadata,
            warnings: row.warnings,
            deadline_at: row.deadline_at,
            route_reason: row.route_reason,
            response_shape: ResponseShape::from_code(row.response_shape),
            erased_at: row.erased_at,
            custom_id: row.custom_id,
            group: row.group_id.map(GroupId::from),
            position: row.group_position.map(number::unsigned),
            cancel_requested_at: row.cancel_requested_at,
        })
    }
}

impl Row {
    fn key_request(&self, project: ProjectId) -> KeyRequest {
        let mut request = KeyRequest::default();
        request.add_text(project, self.callback_url.as_deref());
        request.add(project, self.metadata.as_deref());
        request.add(project, self.warnings.as_deref());
        request.add_text(project, self.custom_id.as_deref());
        request.add(project, self.bytes.as_deref());
        request
    }

    fn decrypt(
        &mut self,
        keys: &ReadKeys,
        project: ProjectId,
        cargo: CargoId,
    ) -> Result<(), Error> {
        let row = cargo.uuid();
        let identity = |kind| ValueIdentity { project, row, kind };
        let url = self.callback_url.take();
        let url = url.map(|url| keys.decrypt_text(identity(ContentKind::CallbackUrl), url));
        self.callback_url = url.transpose()?;
        let metadata = self.metadata.take();
        self.metadata = keys.decrypt_json(identity(ContentKind::RequestMetadata), metadata)?;
        let warnings = self.warnings.take();
        self.warnings = keys.decrypt_json(identity(ContentKind::LoadWarnings), warnings)?;
        let custom_id = self.custom_id.take();
        let custom_id = custom_id.map(|it| keys.decrypt_text(identity(ContentKind::CustomId), it));
        self.custom_id = custom_id.transpose()?;
        if let (Some(codec), Some(bytes)) = (self.codec, self.bytes.take()) {
            let body = PackedBody { codec, bytes };
            let body = body.decrypt(keys, identity(ContentKind::Outcome))?;
            (self.codec, self.bytes) = (Some(body.codec), Some(body.bytes));
        }
        Ok(())
    }

    fn outcome(&mut self) -> Result<Option<StoredOutcome>, Error> {
        let (Some(success), Some(codec), Some(bytes)) =
            (self.success, self.codec, self.bytes.take())
        else {
            return Ok(None);
        };
        Ok(Some(StoredOutcome {
            success,
            failure_code: self.failure_code.take(),
            body: PackedBody { codec, bytes }.unpack("outcome")?,
            usage: self.tokens().usage(),
            buckets: self.tokens().buckets(),
            served: self.served.as_deref().and_then(InferenceMode::parse),
            charged: self.charged.map_or(Money::ZERO, Money),
            realtime: self.realtime.map(Money),
        }))
    }

    const fn tokens(&self) -> StoredTokens {
        StoredTokens {
            input: self.input_tokens,
            cached: self.cached_tokens,
            cache_write: self.cache_write_tokens,
            cache_write_1h: self.cache_write_1h_tokens,
            output: self.output_tokens,
            thinking: self.thinking_tokens,
        }
    }

    fn callback(&mut self, state: CallbackState) -> Option<TrackedCallback> {
        let is_delivered = state == CallbackState::Delivered;
        let attempts = self.number.and_then(|number| u32::try_from(number).ok());
        Some(TrackedCallback {
            url: self.callback_url.take()?,
            attempts: attempts.unwrap_or(0),
            last_attempt_at: self.started_at,
            last_status_code: self.status.and_then(|status| u16::try_from(status).ok()),
            last_error: self.error.take(),
            next_attempt_at: self.due_at,
            delivered_at: self.callback_ended_at.filter(|_| is_delivered),
        })
    }

    fn progress(&mut self, state: Option<batch::BatchState>) -> Result<CargoProgress, Error> {
        let paused = self.paused.take().zip(self.paused_at);
        let batch = state.zip(self.gathered_at);
        Ok(CargoProgress {
            created_at: self.created_at,
            requeued_at: self.returned_at,
            backoff_until: self.rests_until,
            via: InferenceMode::parse(&self.via).ok_or(corrupt("lane", "via"))?,
            paused_provider: paused.map(|(reason, since)| PausedProvider {
                reason,
                since,
                retry_at: self.retry_at,
            }),
            paused_lane: self.lane_paused_at.map(|since| PausedLane {
                reason: self.pause_reason.take(),
                since,
            }),
            turnaround: self.turnaround_seconds,
            batch: batch.map(|(state, gathered_at)| BatchProgress {
                state,
                gathered_at,
                submission_unknown_since: self.unknown_since,
                running_at: self.running_at,
                next_poll_at: self.next_poll_at,
                cancel_requested_at: self.cancel_wanted_at,
                delay: self.delay.as_deref().and_then(SubmissionDelay::parse),
                is_claimed: self.is_claimed,
            }),
        })
    }
}

pub(crate) fn parse_batch_state(text: &str) -> Result<batch::BatchState, Error> {
    batch::BatchState::parse(text).ok_or(corrupt("batch", "state"))
}

pub(crate) fn parse_callback_state(text: &str) -> CallbackState {
    match text {
        "delivered" => CallbackState::Delivered,
        "failed" => CallbackState::Failed,
        _ => CallbackState::Open,
    }
}

const fn corrupt(table: &'static str, column: &'static str) -> Error {
    Error::Corrupt { table, column }
}
