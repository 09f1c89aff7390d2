//! The rows of control: who may ask, and where their rows lie.
//!
//! Whatever is changed here is also noted in the feed of changes, in the same
//! transaction: nodes keep what they have read and forget it when told.

pub mod api_key;

pub mod audit;

pub mod berth;

pub mod change;

pub mod installation;

pub mod member;

pub mod node;

pub mod organization;

pub mod pass;

pub mod person;

pub mod project;

pub mod seat;

pub mod session;

pub mod throttle;
