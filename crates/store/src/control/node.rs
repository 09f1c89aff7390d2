//! The processes that serve, by their heartbeats: how many there are is a matter of limits.
//!
//! As with every lease, a node is alive until `seen_until` by the server's own clock.

use uuid::Uuid;

use crate::Control;
use crate::Error;

/// One process that serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub id: Uuid,
    /// For people: the host and the process.
    pub name: String,
}

/// Lives on for another lease, buries the dead, and says how many are alive.
pub async fn beat(control: &Control, node: &Node, lease_seconds: f64) -> Result<u32, Error> {
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

/// Goes in peace: the others have its share with their next beat.
pub async fn leave(control: &Control, node: &Node) -> Result<(), Error> {
    sqlx::query!("delete from control.node where node = $1", node.id)
        .execute(&control.pool)
        .await?;
    Ok(())
}
