//! DNS lookups. The SSRF guard vets the addresses, not this module.

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared, WeakShared};
use parking_lot::Mutex;

use super::lookup_slots::LookupSlots;

/// Above this number of names, finished lookups are removed.
const LOOKUP_CLEANUP_THRESHOLD: usize = 1024;

#[async_trait]
pub trait DnsResolver: Send + Sync + fmt::Debug {
    /// Every address of the name. Empty if it has none or could not be resolved.
    async fn resolve(&self, name: &str) -> Vec<IpAddr>;
}

type Lookup = BoxFuture<'static, Vec<IpAddr>>;

/// The system's resolver. Callers that wait for the same name share one lookup.
///
/// So a slow name takes one lookup slot and not all of them.
#[derive(Default)]
pub struct SystemResolver {
    slots: Arc<LookupSlots>,
    in_flight: Mutex<HashMap<String, WeakShared<Lookup>>>,
}

impl fmt::Debug for SystemResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SystemResolver").finish_non_exhaustive()
    }
}

#[async_trait]
impl DnsResolver for SystemResolver {
    async fn resolve(&self, name: &str) -> Vec<IpAddr> {
        let answer = self.join_lookup(name).await;
        // Answers are not cached: the next caller starts a new lookup.
        self.in_flight.lock().remove(name);
        answer
    }
}

impl SystemResolver {
    fn join_lookup(&self, name: &str) -> Shared<Lookup> {
        let mut under_way = self.in_flight.lock();
        if let Some(lookup) = under_way.get(name).and_then(WeakShared::upgrade) {
            return lookup;
        }
        if under_way.len() >= LOOKUP_CLEANUP_THRESHOLD {
            under_way.retain(|_, lookup| lookup.upgrade().is_some());
        }
        let lookup = look_up(Arc::clone(&self.slots), name.to_owned())
            .boxed()
            .shared();
        // A weak reference: a lookup without waiting callers is dropped.
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
        // A lookup cannot be cancelled, so it holds its slot until it ends.
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
