//! Heartbeats of the processes that serve. Their number decides each process's share of the rate
//! limits.
//!
//! As with every lease, a node is alive until `seen_until` by the database server's clock.

use uuid::Uuid;

use crate::Control;
use crate::Error;

/// One process that serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServingNode {
    pub id: Uuid,
    /// The host and the process, for display.
    pub name: String,
}

/// Renews the lease of this node, deletes dead nodes, and returns how many are alive.
pub async fn heartbeat(
    control: &Control,
    node: &ServingNode,
    lease_seconds: f64,
) -> Result<u32, Error> {
    let others = sqlx::query_scalar!(
        r#"
        with dead as (
            delete from control.node
            where node in (
                select node from control.node
                where seen_until < clock_timestamp() and node <> $1
                -- Two that beat at once do not wait for each other.
                for update skip locked
            )
        ), beaten as (
            insert into control.node (node, name, seen_until)
            values ($1, $2, clock_timestamp() + make_interval(secs => $3))
            on conflict (node) do update set seen_until = excluded.seen_until
        )
        -- What this statement writes it does not see: the node itself is added below.
        select count(*) as "others!" from control.node
        where seen_until >= clock_timestamp() and node <> $1
        "#,
        node.id,
        node.name,
        lease_seconds
    )
    .fetch_one(&control.pool)
    .await?;
    Ok(u32::try_from(others).unwrap_or(u32::MAX).saturating_add(1))
}

/// Deletes a node that shuts down. The others take over its share with their next heartbeat.
pub async fn leave(control: &Control, node: &ServingNode) -> Result<(), Error> {
    sqlx::query!("delete from control.node where node = $1", node.id)
        .execute(&control.pool)
        .await?;
    Ok(())
}
