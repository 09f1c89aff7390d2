//! A group of the loaded cargo, written into its shard.

use sqlx::PgPool;
use uuid::Uuid;

use crate::harness::{FailureContext as _, Result};

#[derive(Debug)]
pub(super) struct CancelledGroup {
    id: Uuid,
    pool: PgPool,
}

impl CancelledGroup {
    /// Makes a sealed group of this cargo, before the workers start.
    pub(super) async fn create(
        shards: &[(String, PgPool)],
        shard: &str,
        cargo: &[u128],
    ) -> Result<Self> {
        let pool = shards.iter().find(|(name, _)| name == shard);
        let (_, pool) = pool.context("the organization has no shard")?;
        let cargo: Vec<Uuid> = cargo.iter().map(|id| Uuid::from_u128(*id)).collect();
        // Any id of the project's berth will do.
        let id = cargo.first().copied().context("nothing was loaded")?;
        let statement = "
            with chosen as (
                select id, organization, project, row_number() over (order by id) - 1 as position
                from shard.cargo where id = any($2)
            ), made as (
                insert into shard.cargo_group
                    (id, organization, project, name, created_at, sealed_at, total, next_position)
                select $1, organization, project, 'chaos', now(), now(), count(*), count(*)
                from chosen group by organization, project
            ), members as (
                insert into shard.group_member
                    (group_id, position, custom_id_digest, load_digest, cargo)
                select $1, position, uuid_send(id), uuid_send(id), id from chosen
            )
            update shard.cargo c set group_id = $1 from chosen where c.id = chosen.id";
        let made = sqlx::query(statement).bind(id).bind(&cargo);
        made.execute(pool).await.context("making a group")?;
        Ok(Self {
            id,
            pool: pool.clone(),
        })
    }

    pub(super) async fn request_cancel(&self) -> Result<()> {
        let statement = "update shard.cargo_group set cancel_requested_at = now() where id = $1";
        let requested = sqlx::query(statement).bind(self.id).execute(&self.pool);
        requested.await.context("cancelling the group")?;
        Ok(())
    }
}
