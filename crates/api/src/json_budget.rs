//! Bounds the memory of JSON that a load keeps as it is: schemas, inputs of tools, options.

/// A parsed value can take dozens of times the bytes of its text, so a limit on the bytes of a body is
/// not enough.
pub(crate) const MAX_JSON_VALUES: usize = 100_000;

/// How many more JSON values a load may keep. All of its fields share it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JsonBudget {
    remaining: usize,
}

impl JsonBudget {
    pub(crate) const fn new(values: usize) -> Self {
        Self { remaining: values }
    }

    /// Counts a value. False: there are too many, and the value must be skipped.
    pub(crate) const fn take(&mut self) -> bool {
        let is_within = self.remaining > 0;
        self.remaining = self.remaining.saturating_sub(1);
        is_within
    }
}
