//! The bodies of the Files routes.
//!
//! `api::files::validation` reads the requests and reports all validation errors at once. The
//! types of [`request`] describe them.

pub mod record;

pub mod file_error;

pub mod request;

pub mod upload;

pub use file_error::FileErrorBody;
pub use record::{FileContentResponse, FileListResponse, FileRecord};
pub use upload::{RefreshedUploadResponse, UploadGrantBody, UploadPartBody, UploadSessionResponse};
