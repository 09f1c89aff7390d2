//! Where tests step between statements: they pause a task, fail a statement, or lose its answer.

use std::fmt::Debug;

/// What is about to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statement {
    Begin,
    Commit,
    Rollback,
    Other,
}

/// What becomes of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Run,
    /// It is never sent; the connection is lost.
    Fail,
    /// It runs, and the connection is lost before its answer is read.
    LoseAnswer,
}

#[async_trait::async_trait]
pub trait Interceptor: Send + Sync + Debug {
    async fn before(&self, statement: Statement) -> Verdict;

    /// The statement has run and its answer was read; the caller does not have it yet.
    async fn after(&self, _statement: Statement) {}
}
