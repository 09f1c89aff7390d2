//! Whether a request of a connection was authenticated.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The flag of one connection, in the extensions of each of its requests.
///
/// The part of the program that authenticates a request sets it, and it stays set. When too many
/// connections are open, those without it are closed first.
#[derive(Debug, Clone, Default)]
pub struct AuthenticationFlag(Arc<AtomicBool>);

impl AuthenticationFlag {
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
