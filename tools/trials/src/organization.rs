//! A caller: an organization with one project and one key.

#[derive(Debug, Clone)]
pub struct Organization {
    pub id: String,
    pub shard: String,
    pub key: String,
}
