//! Whether the body of a request is stored while it arrives.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The flag of one request, in its extensions.
///
/// A route that stores a body while it arrives sets it before it reads. Then only the bytes that
/// the route has not taken yet count for the byte budget of the listener.
#[derive(Debug, Clone, Default)]
pub struct StreamedBodyFlag(Arc<AtomicBool>);

impl StreamedBodyFlag {
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
