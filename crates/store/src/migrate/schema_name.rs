//! The two schemas, each with its own migrations.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaName {
    Control,
    Shard,
}

impl SchemaName {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Control => "control",
            Self::Shard => "shard",
        }
    }
}
