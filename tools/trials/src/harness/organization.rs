//! An organization of a trial, with one project and one key.

#[derive(Debug, Clone)]
pub struct TrialOrganization {
    pub id: String,
    pub shard: String,
    pub api_key: String,
}
