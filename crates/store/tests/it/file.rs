//! Files: counts, fair claims, and that no file is ready without its bytes.

mod audit;
mod claim;
mod concurrency;
mod create;
mod expiry;
mod fixture;
mod list;
mod publish;
mod random_history;
mod reference;
