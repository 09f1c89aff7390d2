//! Steps of migrations that run online: after the transactional part, while processes serve.
//!
//! Rules for a step: the program works before it is finished. Queries may be slower, never wrong.
//! It can be interrupted at any point, and the next `longshored migrate` continues it. No load
//! waits for its locks longer than a second. See docs/decisions/0038.

use super::schema_name::SchemaName;

/// A step. Its name never changes, and is never used for another step of the same schema.
#[derive(Debug, Clone, Copy)]
pub struct OnlineStep {
    pub name: &'static str,
    /// The migration after which it runs.
    pub after: i64,
    pub work: OnlineWork,
}

#[derive(Debug, Clone, Copy)]
pub enum OnlineWork {
    /// `create index concurrently`. The index has the name of the step. On a partitioned table, one
    /// index is built on each partition and attached to that of the table.
    Index {
        table: &'static str,
        is_unique: bool,
        /// What follows the name of the table: `(lane, job) where job is not null`.
        definition: &'static str,
    },
    /// `update TABLE set ASSIGNMENTS where CONDITION`, in chunks by key. Rows that processes of the
    /// version before write behind the position keep their old form: the program reads both.
    Backfill {
        table: &'static str,
        /// A column with a unique index, and its type.
        key: &'static str,
        key_type: &'static str,
        assignments: &'static str,
        condition: &'static str,
        chunk_rows: i64,
    },
    /// `validate constraint`, for a constraint that a migration added as `not valid`.
    Validation {
        table: &'static str,
        constraint: &'static str,
    },
}

/// In the order in which they run.
const CONTROL_STEPS: &[OnlineStep] = &[];

/// In the order in which they run.
const SHARD_STEPS: &[OnlineStep] = &[
    // The look for jobs at providers that no row knows.
    OnlineStep {
        name: "batch_job",
        after: 13,
        work: OnlineWork::Index {
            table: "batch",
            is_unique: false,
            definition: "(job) where job is not null",
        },
    },
];

/// The steps of this release.
pub const fn online_steps(schema: SchemaName) -> &'static [OnlineStep] {
    match schema {
        SchemaName::Control => CONTROL_STEPS,
        SchemaName::Shard => SHARD_STEPS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The index of a partition has the name of the partition, such as `outcome_20260101`, before it.
    const MAX_NAME_LENGTH: usize = 40;

    #[test]
    fn steps_are_ordered_and_have_short_names_of_their_own() {
        for schema in [SchemaName::Control, SchemaName::Shard] {
            let steps = online_steps(schema);
            assert!(steps.is_sorted_by_key(|step| step.after));
            for (place, step) in steps.iter().enumerate() {
                assert!(step.name.len() <= MAX_NAME_LENGTH, "{}", step.name);
                let mut others = steps.iter().skip(place + 1);
                assert!(others.all(|other| other.name != step.name), "{}", step.name);
            }
        }
    }
}
