//! The rows of a shard, along the path: account, load, lane, waiting, batch, outcome, delivery.

pub mod pulse;

pub mod account;

pub mod posting;

pub mod credit;

pub mod statement;

pub mod audit;

pub mod storage;

pub mod object;

pub mod file;

pub mod patrol;

pub mod bucket_marker;

mod time_limit;

mod hold;

mod settlement;

pub mod load;

pub mod tracking;

pub mod lane;

pub mod waiting;

pub mod batch;

pub mod submission;

pub mod provider;

pub mod manifest;

pub mod trouble;

pub mod outcome;

pub mod delivery;

pub mod attempt;

pub mod resend;

pub mod node;

pub mod usage;

pub mod callback_health;

pub mod fold;

pub mod saving;

pub mod partition;
