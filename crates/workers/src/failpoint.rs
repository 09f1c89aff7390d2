//! Failpoints: named points at which a chaos trial has this process kill itself. Only the feature
//! `chaos` compiles them in; otherwise a failpoint does nothing.

#[cfg(not(feature = "chaos"))]
mod unarmed {
    pub(crate) const fn point(_: &'static str, _: &str) {}

    pub(crate) const fn during<F: Future>(_: &'static str, _: &str, what: F) -> F {
        what
    }
}

#[cfg(feature = "chaos")]
mod armed;

#[cfg(feature = "chaos")]
pub use armed::{Failpoint, arm, names};
#[cfg(feature = "chaos")]
pub(crate) use armed::{during, point};
#[cfg(not(feature = "chaos"))]
pub(crate) use unarmed::{during, point};
