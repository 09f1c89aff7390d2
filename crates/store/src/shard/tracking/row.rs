//! The joined rows of a cargo, as tracking reads them.

use domain::batch::{self, SubmissionDelay};
use domain::cargo::{CallbackState, CargoStatus};
use domain::id::GroupId;
use domain::model::ModelKind;
use domain::money::Money;
use domain::response_shape::ResponseShape;
use domain::route::InferenceMode;
use domain::time::Timestamp;
use domain::waiting_status::{BatchProgress, CargoProgress, PausedLane, PausedProvider};
use sqlx::types::Uuid;

use crate::Error;
use crate::body::PackedBody;
use crate::encryption::{ContentKind, KeyRequest, ReadKeys, ValueIdentity};
use crate::number;
use crate::shard::stored_tokens::StoredTokens;
use crate::shard::tracking::{
    StoredOutcome, TrackedCallback, TrackedCargo, corrupt, parse_batch_state, parse_callback_state,
};

/// The joined rows of cargo; `$rest` joins the request, the batch, the outcome, the delivery and the
/// last attempt, and says which cargo.
macro_rules! tracking_rows {
    ($rest:literal $(, $argument:expr)* $(,)?) => {
        sqlx::query_as!(
            crate::shard::tracking::row::Row,
            r#"select c.id as "id!", c.project as "project!", c.model as "model!", l.kind as "kind!",
                   l.via as "via!", l.turnaround_seconds, p.reason as "paused?",
                   p.paused_at, p.retry_at, l.paused_at as lane_paused_at, l.pause_reason,
                   c.attempt as "attempt!", c.created_at as "created_at!", c.returned_at,
                   c.completed_at, c.erased_at, c.cancel_requested_at,
                   case when c.batch is null and c.returned_at is not null then (
                       select w.due_at from shard.waiting w
                       where w.lane = c.lane and w.organization = c.organization and w.cargo = c.id
                   ) end as rests_until, c.callback_url,
                   c.callback_state as "callback_state!", c.callback_ended_at, c.held,
                   b.state as "batch_state?", b.gathered_at as "gathered_at?", b.running_at,
                   b.next_poll_at, b.cancel_wanted_at, b.delay, b.node is not null as "is_claimed!",
                   -- In the hands of a worker it is still being sent, unless it was looked for before.
                   case when b.node is null or b.looks > 0 then b.sent_at end as unknown_since,
                   c.deadline_at, c.route_reason, c.response_shape as "response_shape!", r.metadata,
                   r.warnings, r.custom_id, c.group_id, c.group_position,
                   o.success as "success?", o.codec as "codec?", o.body as "bytes?",
                   o.input_tokens as "input_tokens?", o.output_tokens as "output_tokens?",
                   o.cached_tokens, o.cache_write_tokens, o.cache_write_1h_tokens, o.thinking_tokens,
                   o.served, o.charged, o.realtime, o.failure_code,
                   d.due_at as "due_at?",
                   a.number as "number?", a.started_at as "started_at?", a.status, a.error
               from shard.cargo c
               join shard.lane l on l.id = c.lane
               left join shard.provider p on p.name = l.provider and p.paused_at is not null
               "# + $rest
            $(, $argument)*
        )
    };
}
pub(super) use tracking_rows;

/// The rows of one cargo, joined.
pub(super) struct Row {
    pub(super) id: Uuid,
    pub(super) project: Uuid,
    pub(super) model: String,
    pub(super) kind: String,
    pub(super) via: String,
    pub(super) turnaround_seconds: Option<f64>,
    pub(super) paused: Option<String>,
    pub(super) paused_at: Option<Timestamp>,
    pub(super) retry_at: Option<Timestamp>,
    pub(super) lane_paused_at: Option<Timestamp>,
    pub(super) pause_reason: Option<String>,
    pub(super) attempt: i32,
    pub(super) created_at: Timestamp,
    pub(super) returned_at: Option<Timestamp>,
    pub(super) rests_until: Option<Timestamp>,
    pub(super) completed_at: Option<Timestamp>,
    pub(super) erased_at: Option<Timestamp>,
    pub(super) cancel_requested_at: Option<Timestamp>,
    pub(super) callback_url: Option<String>,
    pub(super) callback_state: String,
    pub(super) callback_ended_at: Option<Timestamp>,
    pub(super) held: Option<i64>,
    pub(super) batch_state: Option<String>,
    pub(super) gathered_at: Option<Timestamp>,
    pub(super) running_at: Option<Timestamp>,
    pub(super) next_poll_at: Option<Timestamp>,
    pub(super) cancel_wanted_at: Option<Timestamp>,
    pub(super) delay: Option<String>,
    pub(super) is_claimed: bool,
    pub(super) unknown_since: Option<Timestamp>,
    pub(super) deadline_at: Option<Timestamp>,
    pub(super) route_reason: Option<String>,
    pub(super) response_shape: i16,
    pub(super) metadata: Option<Vec<u8>>,
    pub(super) warnings: Option<Vec<u8>>,
    pub(super) custom_id: Option<String>,
    pub(super) group_id: Option<Uuid>,
    pub(super) group_position: Option<i64>,
    pub(super) success: Option<bool>,
    pub(super) codec: Option<i16>,
    pub(super) bytes: Option<Vec<u8>>,
    pub(super) input_tokens: Option<i64>,
    pub(super) output_tokens: Option<i64>,
    pub(super) cached_tokens: Option<i64>,
    pub(super) cache_write_tokens: Option<i64>,
    pub(super) cache_write_1h_tokens: Option<i64>,
    pub(super) thinking_tokens: Option<i64>,
    pub(super) served: Option<String>,
    pub(super) charged: Option<i64>,
    pub(super) realtime: Option<i64>,
    pub(super) failure_code: Option<String>,
    pub(super) due_at: Option<Timestamp>,
    pub(super) number: Option<i16>,
    pub(super) started_at: Option<Timestamp>,
    pub(super) status: Option<i16>,
    pub(super) error: Option<String>,
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
    pub(super) fn key_request(&self) -> KeyRequest {
        let project = self.project.into();
        let mut request = KeyRequest::default();
        request.add_text(project, self.callback_url.as_deref());
        request.add(project, self.metadata.as_deref());
        request.add(project, self.warnings.as_deref());
        request.add_text(project, self.custom_id.as_deref());
        request.add(project, self.bytes.as_deref());
        request
    }

    pub(super) fn decrypt(&mut self, keys: &ReadKeys) -> Result<(), Error> {
        let (project, row) = (self.project.into(), self.id);
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
