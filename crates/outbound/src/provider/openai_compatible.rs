//! Requests and responses of the `OpenAI` API, which self-hosted servers implement too.

mod request;
mod response;

pub(super) use request::{ApiDialect, endpoint_path, request_body};
pub(super) use response::parse_response;

#[cfg(test)]
mod tests;
