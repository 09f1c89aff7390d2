//! A connection while it is lent.

use futures::TryStreamExt as _;
use sqlx::postgres::{PgQueryResult, PgRow};
use sqlx::{Connection as _, Either, Execute, Executor as _, Postgres};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout_at};

use super::Pool;
use super::connect::{Connected, late};
use super::intercept::{Statement, Verdict};
use crate::error::is_lost;

pub(super) type Answers = Vec<Either<PgQueryResult, PgRow>>;

/// What may be said of the transaction of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// The last answer was read to its end, outside any transaction.
    Clean,
    InTransaction,
    /// A statement of the transaction failed: it can only be rolled back.
    Failed,
    /// A statement is under way, or its answer was not read.
    Unknown,
}

/// A connection in the hands of one caller. It goes back to the pool only when it is provably
/// outside a transaction; otherwise it is closed, and the server rolls back.
#[derive(Debug)]
pub struct Session {
    pool: Pool,
    connected: Option<Connected>,
    standing: Standing,
    /// Of the transaction; a statement outside one has its own.
    deadline: Option<Instant>,
    _permit: OwnedSemaphorePermit,
}

impl Session {
    pub(super) fn new(pool: Pool, connected: Connected, permit: OwnedSemaphorePermit) -> Self {
        Self {
            pool,
            connected: Some(connected),
            standing: Standing::Clean,
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
        self.control(Statement::Begin, Standing::InTransaction)
            .await
    }

    pub(super) async fn commit(&mut self) -> Result<(), sqlx::Error> {
        if self.standing != Standing::InTransaction {
            // The server would answer COMMIT with ROLLBACK, which the driver takes for success.
            self.rollback().await?;
            return Err(sqlx::Error::Protocol(
                "a statement of the transaction failed before".to_owned(),
            ));
        }
        self.control(Statement::Commit, Standing::Clean).await
    }

    pub(super) async fn rollback(&mut self) -> Result<(), sqlx::Error> {
        self.control(Statement::Rollback, Standing::Clean).await
    }

    /// Begins, commits or rolls back.
    async fn control(&mut self, statement: Statement, then: Standing) -> Result<(), sqlx::Error> {
        let sql = match statement {
            Statement::Begin => "begin",
            Statement::Commit => "commit",
            Statement::Rollback | Statement::Other => "rollback",
        };
        self.run(statement, sql).await?;
        self.standing = then;
        if then == Standing::Clean {
            self.deadline = None;
        }
        Ok(())
    }

    /// Runs a statement and reads its answer to the end.
    pub(super) async fn run<'q, E>(
        &mut self,
        statement: Statement,
        query: E,
    ) -> Result<Answers, sqlx::Error>
    where
        E: Execute<'q, Postgres> + 'q,
    {
        let verdict = match &self.pool.shared.interceptor {
            Some(interceptor) => interceptor.before(statement).await,
            None => Verdict::Run,
        };
        let before = std::mem::replace(&mut self.standing, Standing::Unknown);
        let Some(connected) = &mut self.connected else {
            return Err(sqlx::Error::PoolClosed);
        };
        if verdict == Verdict::Fail {
            return self.broken(late("a test failed the statement before it was sent"));
        }
        let own = Instant::now() + self.pool.class.limits().deadline;
        let deadline = self.deadline.unwrap_or(own);
        let running = connected
            .connection
            .fetch_many(query)
            .try_collect::<Answers>();
        let ran = timeout_at(deadline, running).await;
        if verdict == Verdict::LoseAnswer {
            return self.broken(late("a test lost the answer"));
        }
        if let Some(interceptor) = &self.pool.shared.interceptor {
            interceptor.after(statement).await;
        }
        match ran {
            Ok(Ok(answers)) => {
                self.standing = before;
                Ok(answers)
            }
            Ok(Err(error)) if is_lost(&error) => self.broken(error),
            Ok(Err(error)) => {
                self.refused(before, deadline).await;
                Err(error)
            }
            Err(_) => self.broken(late("the server did not answer within the deadline")),
        }
    }

    /// The server refused a statement: the session is as it was, or its transaction has failed.
    async fn refused(&mut self, before: Standing, deadline: Instant) {
        if before != Standing::Clean {
            self.standing = Standing::Failed;
        } else if let Some(connected) = &mut self.connected
            // The rest of the answer is still to be read.
            && let Ok(Ok(())) = timeout_at(deadline, connected.connection.ping()).await
        {
            self.standing = Standing::Clean;
        }
    }

    /// The server is away, silent or read only: this connection and all idle ones are closed.
    fn broken<T>(&mut self, error: sqlx::Error) -> Result<T, sqlx::Error> {
        self.connected = None;
        self.pool.shared.distrust();
        Err(error)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Without a word: a backend that finds its client gone rolls back at once.
        if let Some(mut connected) = self.connected.take()
            && self.standing == Standing::Clean
        {
            connected.is_new = false;
            self.pool.shared.give_back(connected);
        }
    }
}
