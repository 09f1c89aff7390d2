//! The domain types of Longshore and their rules, in the order of the request path.
//!
//! Nothing here reads a clock, draws a random number or does I/O. Rules take all that they need
//! as arguments.

pub mod time;

pub mod id;

pub mod organization;

pub mod project;

pub mod api_key;

pub mod audit_token;

pub mod secret_token;

pub mod master_key;

pub mod person;

pub mod oidc;

pub mod money;

pub mod price;

pub mod load_warning;

pub mod suggestion;

pub mod error_chain;

pub mod route;

pub mod model;

pub mod effort;

pub mod route_choice;

pub mod params;

pub mod features;

pub mod field_refusal;

pub mod field_spelling;

pub mod schema_dialect;

pub mod conversation_rules;

pub mod feature_check;

pub mod token_buckets;

pub mod response_shape;

pub mod model_answer;

pub mod tenant_hash;

pub mod thinking_signature;

pub mod provider_options;

pub mod callback_url;

pub mod dropin;

pub mod file;

pub mod upload;

pub mod session_credentials;

pub mod magic_bytes;

pub mod probe_protocol;

pub mod storage_quota;

pub mod file_validation;

pub mod patrol;

pub mod ssrf_guard;

pub mod forwarded_for;

pub mod authentication_flag;
pub mod streamed_body;

pub mod cargo;

pub mod cargo_group;

pub mod group_digest;

pub mod idempotency;

pub mod history_retention;

pub mod hold;

pub mod held_bounds;

pub mod load_estimate;

pub mod plan_limits;

pub mod token_bucket;

pub mod request_buckets;

pub mod bucket_marker;

pub mod recovery;

pub mod erasure_log;

pub mod durability;

pub mod fixed_window;

pub mod concurrency_limit;

pub mod account;

pub mod key_spending;

pub mod key_scope;

pub mod ledger;

pub mod admission;

pub mod lane;

pub mod fair_queueing;

pub mod batch;

pub mod circuit_breaker;

pub mod reason_code;

pub mod waiting_status;

pub mod outcome;

pub mod failure_label;

pub mod account_fault;

pub mod retry;

pub mod saving;

pub mod retry_schedule;

pub mod resend;

pub mod callback_settings;

pub mod retention;

pub mod listener_name;

pub mod callback_signature;

pub mod callback_health;

pub mod host_pace;

pub mod recent_map;

pub mod usage;

pub mod trace_context;

pub mod span;

pub mod cargo_spans;
