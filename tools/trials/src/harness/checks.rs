//! Checks that several trials share.

pub mod bucket_reconciliation;
pub mod claim_watch;
pub mod completion;
pub mod content_audit;
pub mod interruption;
pub mod ledger_audit;
pub mod outages;
pub mod readiness_watch;
