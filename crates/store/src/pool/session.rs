//! A connection while a caller uses it.

use futures::TryStreamExt as _;
use sqlx::postgres::{PgQueryResult, PgRow};
use sqlx::{Connection as _, Either, Execute, Executor as _, Postgres};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout_at};

use super::Pool;
use super::connect::{PooledConnection, timed_out};
use super::intercept::{InterceptAction, InterceptedStatement};
use crate::error::is_connection_lost;

pub(super) type StatementResults = Vec<Either<PgQueryResult, PgRow>>;

/// The state of a session's transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TransactionState {
    /// The last answer was read to its end, outside any transaction.
    Clean,
    InTransaction,
    /// A statement of the transaction failed. Only a rollback is possible.
    Failed,
    /// A statement is running, or its answer was not read.
    Unknown,
}

/// A connection that one caller uses. It returns to the pool only when it is provably outside a
/// transaction. Otherwise it is closed, and the server rolls back.
#[derive(Debug)]
pub struct DatabaseSession {
    pool: Pool,
    connected: Option<PooledConnection>,
    transaction_state: TransactionState,
    /// Of the transaction. A statement outside a transaction has a separate deadline.
    deadline: Option<Instant>,
    _permit: OwnedSemaphorePermit,
}

impl DatabaseSession {
    pub(super) fn new(
        pool: Pool,
        connected: PooledConnection,
        permit: OwnedSemaphorePermit,
    ) -> Self {
        Self {
            pool,
            connected: Some(connected),
            transaction_state: TransactionState::Clean,
            deadline: None,
            _permit: permit,
        }
    }

    pub(super) fn is_new(&self) -> bool {
        self.connected.as_ref().is_some_and(|it| it.is_new)
    }

    /// From here on every statement belongs to one transaction with one deadline.
    pub(super) async fn begin(&mut self) -> Result<(), sqlx::Error> {
        self.deadline = Some(Instant::now() + self.pool.class.limits().deadline);
        self.control_transaction(InterceptedStatement::Begin, TransactionState::InTransaction)
            .await
    }

    pub(super) async fn commit(&mut self) -> Result<(), sqlx::Error> {
        if self.transaction_state != TransactionState::InTransaction {
            // The server would answer COMMIT with ROLLBACK, which the driver takes for success.
            self.rollback().await?;
            return Err(sqlx::Error::Protocol(
                "an earlier statement of the transaction failed".to_owned(),
            ));
        }
        self.control_transaction(InterceptedStatement::Commit, TransactionState::Clean)
            .await
    }

    pub(super) async fn rollback(&mut self) -> Result<(), sqlx::Error> {
        self.control_transaction(InterceptedStatement::Rollback, TransactionState::Clean)
            .await
    }

    /// Begins, commits or rolls back.
    async fn control_transaction(
        &mut self,
        statement: InterceptedStatement,
        then: TransactionState,
    ) -> Result<(), sqlx::Error> {
        let sql = match statement {
            InterceptedStatement::Begin => "begin",
            InterceptedStatement::Commit => "commit",
            InterceptedStatement::Rollback | InterceptedStatement::Other => "rollback",
        };
        self.run(statement, sql).await?;
        self.transaction_state = then;
        if then == TransactionState::Clean {
            self.deadline = None;
        }
        Ok(())
    }

    /// Runs a statement and reads its answer to the end.
    pub(super) async fn run<'q, E>(
        &mut self,
        statement: InterceptedStatement,
        query: E,
    ) -> Result<StatementResults, sqlx::Error>
    where
        E: Execute<'q, Postgres> + 'q,
    {
        let verdict = match &self.pool.shared.interceptor {
            Some(interceptor) => interceptor.before(statement).await,
            None => InterceptAction::Run,
        };
        let before = std::mem::replace(&mut self.transaction_state, TransactionState::Unknown);
        let Some(connected) = &mut self.connected else {
            return Err(sqlx::Error::PoolClosed);
        };
        if verdict == InterceptAction::Fail {
            return self
                .fail_connection(timed_out("a test failed the statement before it was sent"));
        }
        let own = Instant::now() + self.pool.class.limits().deadline;
        let deadline = self.deadline.unwrap_or(own);
        let running = connected
            .connection
            .fetch_many(query)
            .try_collect::<StatementResults>();
        let ran = timeout_at(deadline, running).await;
        if verdict == InterceptAction::LoseAnswer {
            return self.fail_connection(timed_out("a test lost the answer"));
        }
        if let Some(interceptor) = &self.pool.shared.interceptor {
            interceptor.after(statement).await;
        }
        match ran {
            Ok(Ok(answers)) => {
                self.transaction_state = before;
                Ok(answers)
            }
            Ok(Err(error)) if is_connection_lost(&error) => self.fail_connection(error),
            Ok(Err(error)) => {
                self.note_statement_error(before, deadline).await;
                Err(error)
            }
            Err(_) => {
                self.fail_connection(timed_out("the server did not answer within the deadline"))
            }
        }
    }

    /// The server rejected a statement. The session is clean, or its transaction has failed.
    async fn note_statement_error(&mut self, before: TransactionState, deadline: Instant) {
        if before != TransactionState::Clean {
            self.transaction_state = TransactionState::Failed;
        } else if let Some(connected) = &mut self.connected
            // The ping reads the rest of the answer.
            && let Ok(Ok(())) = timeout_at(deadline, connected.connection.ping()).await
        {
            self.transaction_state = TransactionState::Clean;
        }
    }

    /// The server is unreachable, silent or read only: closes this connection and all idle ones.
    fn fail_connection<T>(&mut self, error: sqlx::Error) -> Result<T, sqlx::Error> {
        self.connected = None;
        self.pool.shared.discard_idle();
        Err(error)
    }
}

impl Drop for DatabaseSession {
    fn drop(&mut self) {
        // Closed without a message: the server rolls back when the client disconnects.
        if let Some(mut connected) = self.connected.take()
            && self.transaction_state == TransactionState::Clean
        {
            connected.is_new = false;
            self.pool.shared.give_back(connected);
        }
    }
}
