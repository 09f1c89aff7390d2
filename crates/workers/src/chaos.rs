//! Named points at which a trial has this process kill itself. Compiled in by the feature `chaos`
//! alone; otherwise a point is nothing.

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
pub use armed::{Kill, arm, points};
#[cfg(feature = "chaos")]
pub(crate) use armed::{during, point};
#[cfg(not(feature = "chaos"))]
pub(crate) use unarmed::{during, point};
