//! The rows of control: organizations, projects, keys, people, and the map of berths to shards.
//!
//! Changes that nodes cache are also appended to the change feed, in the same transaction. Nodes
//! follow the feed and drop what has changed from their caches.

pub mod api_key;

pub mod audit_file;

pub mod audit_log;

pub mod audit_token;

pub mod berth;

pub mod change_feed;

pub mod erasure;

pub mod history;

pub mod identity;

pub mod installation;

pub mod key_policy;

mod key_scope;

pub mod member;

pub mod node;

pub mod organization;

pub mod one_time_link;

pub mod person;

pub mod project;

pub mod membership;

pub mod second_factor;

pub mod session;

pub mod sign_in_throttle;
