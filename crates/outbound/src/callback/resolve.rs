//! Names to addresses. What comes back is vetted by the connector, not here.

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use async_trait::async_trait;
use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared, WeakShared};

use super::lookup_slots::LookupSlots;

/// From how many names on the forgotten ones are cleared away.
const MANY_NAMES: usize = 1024;

#[async_trait]
pub trait Resolve: Send + Sync + fmt::Debug {
    /// Every address of the name; none when it has none or could not be resolved.
    async fn resolve(&self, name: &str) -> Vec<IpAddr>;
}

type Lookup = BoxFuture<'static, Vec<IpAddr>>;

/// The system's resolver, asked once for all who wait for the same name.
///
/// So a name that is slow to resolve takes one of the lookups and not all of them.
#[derive(Default)]
pub struct System {
    slots: Arc<LookupSlots>,
    under_way: Mutex<HashMap<String, WeakShared<Lookup>>>,
}

impl fmt::Debug for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("System").finish_non_exhaustive()
    }
}

#[async_trait]
impl Resolve for System {
    async fn resolve(&self, name: &str) -> Vec<IpAddr> {
        let answer = self.join(name).await;
        // The next caller asks anew: we keep no answer.
        self.under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(name);
        answer
    }
}

impl System {
    fn join(&self, name: &str) -> Shared<Lookup> {
        let mut under_way = self
            .under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(lookup) = under_way.get(name).and_then(WeakShared::upgrade) {
            return lookup;
        }
        if under_way.len() >= MANY_NAMES {
            under_way.retain(|_, lookup| lookup.upgrade().is_some());
        }
        let lookup = look_up(Arc::clone(&self.slots), name.to_owned())
            .boxed()
            .shared();
        // Held weakly: a lookup that nobody waits for any more leaves the queue.
        if let Some(weak) = lookup.downgrade() {
            under_way.insert(name.to_owned(), weak);
        }
        lookup
    }
}

async fn look_up(slots: Arc<LookupSlots>, name: String) -> Vec<IpAddr> {
    let Some(slot) = slots.acquire(&name).await else {
        return Vec::new();
    };
    let blocking = tokio::task::spawn_blocking(move || {
        // A lookup cannot be broken off, so its slot is taken until it ends.
        let _slot = slot;
        let started = Instant::now();
        let answer = (name.as_str(), 0).to_socket_addrs();
        slots.record(&name, answer.is_ok(), started.elapsed());
        answer.map(|found| found.map(|socket: SocketAddr| socket.ip()).collect())
    });
    match blocking.await {
        Ok(Ok(found)) => found,
        Ok(Err(_)) | Err(_) => Vec::new(),
    }
}
