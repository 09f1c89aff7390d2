//! Hooks around statements. Tests use them to pause a task, fail a statement, or lose its answer.

use std::fmt::Debug;

/// The kind of statement that is about to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterceptedStatement {
    Begin,
    Commit,
    Rollback,
    Other,
}

/// What the pool does with the statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterceptAction {
    Run,
    /// The statement is never sent; the connection is lost.
    Fail,
    /// The statement runs, and the connection is lost before the answer is read.
    LoseAnswer,
}

#[async_trait::async_trait]
pub trait Interceptor: Send + Sync + Debug {
    async fn before(&self, statement: InterceptedStatement) -> InterceptAction;

    /// The statement has run and its answer was read; the caller does not have it yet.
    async fn after(&self, _statement: InterceptedStatement) {}
}
