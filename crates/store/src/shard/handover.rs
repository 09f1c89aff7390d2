//! Callback attempts that wait for the answer of a listener.
//!
//! The deliver stage creates a handover, reads it until it is answered, and deletes it. The serving
//! process that has the listener's stream takes it and stores the answer. The table is unlogged:
//! a handover matters no longer than its attempt.

use std::time::Duration;

use domain::id::{CargoId, HandoverId, ListenerId, ProjectId};
use domain::listener_name::ListenerName;
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::body::{self, PackedBody};
use crate::encryption::{ContentKind, KeyRequest, ValueIdentity};
use crate::shard::project_keys::{read_keys_within_limit, write_keys_within_limit};

/// A callback attempt for a listener.
#[derive(Debug)]
pub struct NewHandover<'a> {
    pub id: HandoverId,
    pub project: ProjectId,
    pub listener: &'a ListenerName,
    pub cargo: CargoId,
    pub number: u32,
    pub headers: HandoverHeaders,
    pub body: &'a [u8],
}

/// The headers of the POST: names, and their values in the same order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HandoverHeaders {
    pub names: Vec<String>,
    pub values: Vec<String>,
}

/// A handover that a stream sends to its listener.
#[derive(Debug)]
pub struct TakenHandover {
    pub id: HandoverId,
    pub listener: ListenerId,
    pub cargo: CargoId,
    pub number: u32,
    pub headers: HandoverHeaders,
    pub body: Vec<u8>,
    created_at: Timestamp,
}

/// How many handovers a listener may take now.
#[derive(Debug, Clone, Copy)]
pub struct ListenerRoom {
    pub listener: ListenerId,
    pub room: i64,
}

/// What the receiver behind a listener has answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HandoverAnswer {
    pub status: Option<u16>,
    /// Why there is no complete answer.
    pub error: Option<String>,
    /// How long the receiver took, if the listener has measured it.
    pub latency: Option<Duration>,
    /// The beginning of the body.
    pub excerpt: Vec<u8>,
}

/// What has become of a handover.
#[derive(Debug, PartialEq, Eq)]
pub enum HandoverState {
    /// No stream has sent it, but its listener is alive.
    Queued,
    /// It was sent to its listener.
    Taken,
    Answered(HandoverAnswer),
    /// Its listener went away before it was sent, or the row is gone.
    Lost,
}

/// Creates a handover. Returns false if no live listener has the name.
pub async fn create(shard: &Shard, new: &NewHandover<'_>) -> Result<bool, Error> {
    let keys = write_keys_within_limit(shard, [(new.project, 1)]).await?;
    let identity = ValueIdentity {
        project: new.project,
        row: new.id.uuid(),
        kind: ContentKind::HandoverBody,
    };
    let packed = body::pack(new.body).encrypt(keys.find(new.project)?, identity)?;
    let created = sqlx::query!(
        "insert into shard.handover (id, listener, project, cargo, number, header_names,
             header_values, codec, body, created_at)
         select $1::uuid, l.id, l.project, $4::uuid, $5::int4, $6::text[], $7::text[], $8::int2,
             $9::bytea, clock_timestamp()
         from shard.listener l
         where l.project = $2 and l.name = $3
             and l.seen_at > clock_timestamp() - interval '10 seconds'",
        new.id.uuid(),
        new.project.uuid(),
        new.listener.as_str(),
        new.cargo.uuid(),
        i32::try_from(new.number).unwrap_or(i32::MAX),
        &new.headers.names,
        &new.headers.values,
        packed.codec,
        packed.bytes
    )
    .execute(&shard.pool)
    .await?;
    Ok(created.rows_affected() > 0)
}

/// Takes the oldest handovers of each listener. One whose body cannot be decrypted is left out, and
/// its attempt times out.
pub async fn take(shard: &Shard, rooms: &[ListenerRoom]) -> Result<Vec<TakenHandover>, Error> {
    let listeners: Vec<Uuid> = rooms.iter().map(|it| it.listener.uuid()).collect();
    let rooms: Vec<i64> = rooms.iter().map(|it| it.room).collect();
    let rows = sqlx::query!(
        "update shard.handover h set taken_at = clock_timestamp()
         from (
             select oldest.id
             from unnest($1::uuid[], $2::int8[]) as open (listener, room)
                 cross join lateral (
                     select untaken.id from shard.handover untaken
                     where untaken.listener = open.listener and untaken.taken_at is null
                     order by untaken.created_at limit open.room
                 ) oldest
         ) chosen
         where h.id = chosen.id and h.taken_at is null
         returning h.id, h.listener, h.project, h.cargo, h.number, h.header_names,
             h.header_values, h.codec, h.body, h.created_at",
        &listeners,
        &rooms
    )
    .fetch_all(&shard.pool)
    .await?;
    let mut request = KeyRequest::default();
    let mut packed = Vec::with_capacity(rows.len());
    for row in rows {
        let body = PackedBody {
            codec: row.codec,
            bytes: row.body,
        };
        body.add_key(row.project.into(), &mut request);
        let identity = ValueIdentity {
            project: row.project.into(),
            row: row.id,
            kind: ContentKind::HandoverBody,
        };
        let taken = TakenHandover {
            id: row.id.into(),
            listener: row.listener.into(),
            cargo: row.cargo.into(),
            number: u32::try_from(row.number).unwrap_or_default(),
            headers: HandoverHeaders {
                names: row.header_names,
                values: row.header_values,
            },
            body: Vec::new(),
            created_at: row.created_at,
        };
        packed.push((taken, body, identity));
    }
    let keys = read_keys_within_limit(shard, &request).await?;
    let unpacked = packed.into_iter().filter_map(|(taken, body, identity)| {
        let body = body
            .decrypt(&keys, identity)
            .ok()?
            .unpack("handover")
            .ok()?;
        Some(TakenHandover { body, ..taken })
    });
    let mut taken: Vec<TakenHandover> = unpacked.collect();
    taken.sort_by_key(|it| it.created_at);
    Ok(taken)
}

/// Stores the answer to a handover of this listener. Returns false if its attempt has ended or was
/// answered before.
pub async fn answer(
    shard: &Shard,
    project: ProjectId,
    listener: ListenerId,
    id: HandoverId,
    answer: &HandoverAnswer,
) -> Result<bool, Error> {
    let keys = write_keys_within_limit(shard, [(project, 1)]).await?;
    let identity = ValueIdentity {
        project,
        row: id.uuid(),
        kind: ContentKind::HandoverAnswer,
    };
    let packed = body::pack(&answer.excerpt).encrypt(keys.find(project)?, identity)?;
    let latency = answer.latency.map(|it| i32::try_from(it.as_millis()));
    let stored = sqlx::query!(
        "update shard.handover set answered_at = clock_timestamp(), status = $4, error = $5,
             latency_ms = $6, answer_codec = $7, answer = $8
         where id = $1 and listener = $2 and project = $3
             and taken_at is not null and answered_at is null",
        id.uuid(),
        listener.uuid(),
        project.uuid(),
        answer.status.and_then(|status| i16::try_from(status).ok()),
        answer.error.as_deref(),
        latency.map(|it| it.unwrap_or(i32::MAX)),
        packed.codec,
        packed.bytes
    )
    .execute(&shard.pool)
    .await?;
    Ok(stored.rows_affected() > 0)
}

/// What has become of a handover.
pub async fn find(
    shard: &Shard,
    project: ProjectId,
    id: HandoverId,
) -> Result<HandoverState, Error> {
    let row = sqlx::query!(
        r#"select h.taken_at is not null as "is_taken!", h.answered_at is not null as "is_answered!",
               h.status, h.error, h.latency_ms, h.answer_codec, h.answer,
               exists (
                   select from shard.listener l
                   where l.project = h.project and l.id = h.listener
                       and l.seen_at > clock_timestamp() - interval '10 seconds'
               ) as "is_listening!"
           from shard.handover h where h.id = $1"#,
        id.uuid()
    )
    .fetch_optional(&shard.pool)
    .await?;
    let Some(row) = row else {
        return Ok(HandoverState::Lost);
    };
    if !row.is_answered {
        return Ok(match (row.is_taken, row.is_listening) {
            // Its listener may answer although its stream has ended.
            (true, _) => HandoverState::Taken,
            (false, true) => HandoverState::Queued,
            (false, false) => HandoverState::Lost,
        });
    }
    let excerpt = match row.answer_codec.zip(row.answer) {
        Some((codec, bytes)) => {
            read_excerpt(shard, project, id, PackedBody { codec, bytes }).await?
        }
        None => Vec::new(),
    };
    Ok(HandoverState::Answered(HandoverAnswer {
        status: row.status.and_then(|status| u16::try_from(status).ok()),
        error: row.error,
        latency: row
            .latency_ms
            .and_then(|it| u64::try_from(it).ok())
            .map(Duration::from_millis),
        excerpt,
    }))
}

/// Without its key the answer counts, and its body is empty.
async fn read_excerpt(
    shard: &Shard,
    project: ProjectId,
    id: HandoverId,
    packed: PackedBody,
) -> Result<Vec<u8>, Error> {
    let identity = ValueIdentity {
        project,
        row: id.uuid(),
        kind: ContentKind::HandoverAnswer,
    };
    let mut request = KeyRequest::default();
    packed.add_key(project, &mut request);
    let keys = read_keys_within_limit(shard, &request).await?;
    let plain = packed.decrypt(&keys, identity);
    let plain = plain.and_then(|packed| packed.unpack("handover"));
    Ok(plain.unwrap_or_default())
}

/// Deletes a handover whose attempt has ended.
pub async fn delete(shard: &Shard, id: HandoverId) -> Result<(), Error> {
    sqlx::query!("delete from shard.handover where id = $1", id.uuid())
        .execute(&shard.pool)
        .await?;
    Ok(())
}

/// Deletes handovers whose worker has died. No attempt takes as long.
pub async fn delete_abandoned(shard: &Shard) -> Result<(), Error> {
    sqlx::query!(
        "delete from shard.handover where created_at < clock_timestamp() - interval '10 minutes'"
    )
    .execute(&shard.background)
    .await?;
    Ok(())
}
