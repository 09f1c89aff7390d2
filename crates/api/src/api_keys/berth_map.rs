//! The map of berths to shards, as this node last read it from control.

use std::collections::HashMap;
use std::sync::Arc;

use domain::id::Berth;
use parking_lot::RwLock;

#[derive(Debug, Default)]
pub(super) struct BerthMap {
    shards: RwLock<Vec<Arc<str>>>,
}

impl BerthMap {
    pub(super) fn shard_of(&self, berth: Berth) -> Option<Arc<str>> {
        let shards = self.shards.read();
        shards.get(usize::from(berth.number())).cloned()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.shards.read().is_empty()
    }

    /// Sets the map unless the feed has set it meanwhile, which may know of newer changes.
    pub(super) fn fill(&self, names: Vec<String>) {
        let mut shards = self.shards.write();
        if shards.is_empty() {
            *shards = share_names(names);
        }
    }

    pub(super) fn replace(&self, names: Vec<String>) {
        *self.shards.write() = share_names(names);
    }
}

/// A thousand berths are on a few shards, so each name is stored once.
fn share_names(names: Vec<String>) -> Vec<Arc<str>> {
    let mut once: HashMap<String, Arc<str>> = HashMap::new();
    let shared = |name: String| -> Arc<str> {
        let text = Arc::from(name.as_str());
        Arc::clone(once.entry(name).or_insert(text))
    };
    names.into_iter().map(shared).collect()
}
