//! Reports which provider accounts are paused on a shard.

use std::collections::BTreeSet;

use domain::time::Timestamp;
use store::Shard;
use store::shard::provider;

/// The accounts that have a series, so that it returns to 0 after the pause.
#[derive(Debug, Default)]
pub(super) struct PausedAccounts {
    known: BTreeSet<String>,
}

impl PausedAccounts {
    pub(super) async fn report(
        &mut self,
        shard: &Shard,
        now: Timestamp,
    ) -> Result<(), store::Error> {
        let paused = provider::list_paused(shard).await?;
        self.known.extend(paused.keys().cloned());
        for name in &self.known {
            let is_paused = paused.get(name).is_some_and(|it| it.is_in_force(now));
            metrics::gauge!("longshore_provider_account_paused", "provider" => name.clone(), "shard" => shard.name.to_string())
                .set(f64::from(u8::from(is_paused)));
        }
        Ok(())
    }
}
