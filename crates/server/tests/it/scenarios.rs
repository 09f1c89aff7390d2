//! What can happen at a provider, tested with each of them: the tracked statuses, the callbacks
//! and the charges.
//!
//! A test runs one scenario with each provider. Providers with the same report share one section
//! of the snapshot. A line is one cargo: its statuses, each with the attempt number; its result;
//! its charge.

mod provider_pauses;

mod batch_submission;

mod job_deletion;

mod job_ends;

mod deadlines;

mod flex;

mod packing;

mod scenario;

mod polling;

mod result_ingestion;

mod realtime_server;

mod shared_account;

mod submission_takeover;

mod conversation;

mod prompt_caching;

mod refusals;

mod structured_output;

mod thinking;

mod tools;

mod truncated_answers;
