//! The nouns of Longshore and their rules, in the order of the path.
//!
//! Nothing here reads a clock, draws a random number or talks to anyone:
//! what a rule needs to know is an argument.

pub mod time;

pub mod id;

pub mod organization;

pub mod project;

pub mod api_key;

pub mod token;

pub mod person;

pub mod house;

pub mod money;

pub mod nearest;

pub mod route;

pub mod model;

pub mod params;

pub mod callback;

pub mod file;

pub mod upload;

pub mod sniff;

pub mod probe;

pub mod storage;

pub mod verdict;

pub mod patrol;

pub mod address;

pub mod cargo;

pub mod idempotency;

pub mod hold;

pub mod limit;

pub mod bucket;

pub mod bucket_marker;

pub mod window;

pub mod account;

pub mod ledger;

pub mod admission;

pub mod lane;

pub mod turns;

pub mod batch;

pub mod breaker;

pub mod waiting;

pub mod outcome;

pub mod trouble;

pub mod account_fault;

pub mod again;

pub mod saving;

pub mod delivery;

pub mod resend;

pub mod callback_health;

pub mod host_pace;

pub mod recent_map;

pub mod usage;
