//! The rows of a shard, in processing order: account, load, lane, waiting, batch, outcome,
//! delivery.

pub mod clock;

pub mod account;

pub mod key_spending;

pub mod posting;

pub mod credit;

pub mod statement;

pub mod ledger_audit;

pub mod storage;

pub mod object;

pub mod file;

pub mod patrol;

pub mod bucket_marker;

pub mod recovery;

pub mod project_keys;

mod time_limit;

mod hold;

mod settlement;

pub mod idempotency;

pub mod group;

pub mod parcel;

pub mod dropin;

pub mod input_file;

pub mod load;

mod stored_tokens;

pub mod tracking;

pub mod completion;

pub mod lane;

pub mod lane_state;

pub mod cargo_id_range;

pub mod waiting;

pub mod waiting_deadlines;

pub mod earlier_cost;

pub mod batch;

pub mod batch_submission;

pub mod batch_trace;

pub mod provider_file;

pub mod provider;

pub mod manifest;

pub mod failure_index;

pub mod feed;

pub mod outcome;

pub mod cancel;

pub mod delivery;

mod cargo_erasure;

pub mod retention;

pub mod callback_settings;

pub mod attempt;

pub mod listener;

pub mod handover;

pub mod resend;

pub mod node;

pub mod usage;

pub mod callback_health;

pub mod fold;

pub mod saving;

pub mod settled_samples;

pub mod partition;

pub mod history;

pub mod person_erasure;

pub mod project_erasure;
