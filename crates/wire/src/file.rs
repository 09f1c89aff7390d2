//! The bodies of the Files routes.
//!
//! Requests are read by `api::files::check`, which reports every fault at once;
//! the types of [`request`] are their description.

pub mod record;

pub mod refusal;

pub mod request;

pub mod upload;

pub use record::{Content, FileList, FileRecord};
pub use refusal::FileRefusal;
pub use upload::{Part, Refreshed, Session, Upload};
