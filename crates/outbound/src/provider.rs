//! Providers run models: a batch is submitted as a job and polled until every answer has arrived.

use domain::id::{CargoId, OrganizationId};
use domain::params::Params;
use domain::time::Timestamp;

pub mod mock;

pub mod credential;

mod provider_error;

pub mod item_key;

pub mod spool;

pub mod media;

pub mod item_result;

mod usage_reading;

pub mod client;

pub mod batch_provider;

mod job_listing;

mod request_fields;

mod tool_calls;

mod openai_compatible;

pub mod openai;

pub mod anthropic;

pub mod gemini;

pub mod realtime;

pub mod model_info;

#[cfg(test)]
mod fixtures;

#[derive(Debug, Clone, PartialEq)]
pub struct BatchItem {
    pub cargo: CargoId,
    pub attempt: u32,
    pub loaded_at: Timestamp,
    pub organization: OrganizationId,
    pub params: Params,
}

impl BatchItem {
    /// The id of this item inside the provider's job.
    pub const fn key(&self) -> item_key::ItemKey {
        item_key::ItemKey {
            cargo: self.cargo,
            attempt: self.attempt,
        }
    }
}

/// The provider's id for a submitted batch.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ProviderJobId(pub String);
