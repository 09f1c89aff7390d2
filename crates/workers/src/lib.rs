//! The stages that carry a cargo from PENDING to its callback, one module each.
//!
//! ```text
//! gather     PENDING cargo               → a batch
//! dispatch   a batch                     → a job at its provider
//! collect    the results of a job        → outcomes
//! stream     a batch, request by request → outcomes
//! deliver    an outcome                  → the callback
//! resend     failed callbacks            → deliver, once more
//! scan       uploaded bytes              → a ready or failed file
//! sweep      enforces deadlines, retention and expiry, also at providers
//! patrol     compares the object store with the rows
//! audit      checks the ledger
//! recovery   notices a database that was promoted, restored or copied
//! ```
//! Stages and the API never call each other. They share only the database.

pub mod worker_set;

pub mod gather;

mod dispatch;

mod collect;

mod stream;

pub mod deliver;

pub mod resend;

pub mod scan;

pub mod sweep;

pub mod patrol;

pub mod audit;

pub mod recovery;

pub mod stage;

pub mod failpoint;

mod account_states;

mod callback_slots;

mod claim_checks;

mod claimed_batch;

mod batch_end;

mod batch_stage;

mod usage_estimate;

mod result_outcome;

mod stop_sequences;

mod file_stage_deps;

mod lane_cache;

mod deadlines;

mod cancelling;

pub mod lease;

mod stored_requests;

mod media;

mod byte_budget;

mod requeue;

mod packing_limits;

mod providers;

mod recovery_gate;

mod removal_guard;

mod spans;

mod outcome_writer;

pub use account_states::AccountSlots;
pub use batch_stage::BatchStage;
pub use callback_slots::CallbackLimits;
pub use file_stage_deps::{FileStageDeps, ScanSlots};
pub use packing_limits::PackingLimits;
pub use providers::{AccountShare, ProviderAccess, Providers};
pub use worker_set::{Options, WorkerSet, WorkerSetDeps};
