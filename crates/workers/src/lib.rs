//! The stages: a cargo's path from PENDING to its callback, one verb a file.
//!
//! ```text
//! gather     PENDING cargo     → a batch
//! dispatch   a batch           → a provider
//! collect    a provider's word → an outcome
//! stream     a batch, asked for one by one → outcomes
//! deliver    an outcome        → the callback
//! resend     callbacks that failed → deliver, again
//! scan       uploaded bytes    → a file that is ready or failed
//! sweep      what time has passed by
//! patrol     the object store, held against the rows
//! audit      the ledger, proved
//! ```
//! Stages and API never see each other: they meet in the database.

pub mod crew;

pub mod gather;

pub mod dispatch;

pub mod collect;

pub mod stream;

pub mod deliver;

pub mod resend;

pub mod scan;

pub mod sweep;

pub mod patrol;

pub mod audit;

pub mod stage;

pub mod chaos;

mod accounts;

mod callback_slots;

mod claimed;

mod counted;

mod files;

mod lanes;

mod late;

pub mod lease;

mod manifest;

mod media;

mod memory;

mod onward;

mod packing;

mod pause;

mod providers;

mod removal;

mod storing;

mod tasks;

pub use accounts::AccountSlots;
pub use callback_slots::CallbackLimits;
pub use crew::{Crew, Options, Parts};
pub use files::{Files, Slots};
pub use packing::Packing;
pub use providers::{Access, Providers, Share};
