//! Runs the statements of sqlx's macros on pools and sessions.

use std::future::ready;

use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use futures::{FutureExt as _, StreamExt as _, TryFutureExt as _};
use sqlx::postgres::{PgQueryResult, PgRow, PgStatement, PgTypeInfo};
use sqlx::{Describe, Either, Execute, Executor, Postgres, SqlStr};

use super::Pool;
use super::intercept::InterceptedStatement;
use super::session::{DatabaseSession, StatementResults};

type ResultsFuture<'e> = BoxFuture<'e, Result<StatementResults, sqlx::Error>>;
type ResultsStream<'e> = BoxStream<'e, Result<Either<PgQueryResult, PgRow>, sqlx::Error>>;

/// Every answer is read to its end before its first row is returned.
fn stream_results(answered: ResultsFuture<'_>) -> ResultsStream<'_> {
    answered
        .map_ok(|answers| stream::iter(answers).map(Ok))
        .try_flatten_stream()
        .boxed()
}

fn first_row(answers: StatementResults) -> Option<PgRow> {
    answers.into_iter().find_map(Either::right)
}

impl<'c> Executor<'c> for &'c mut DatabaseSession {
    type Database = Postgres;

    fn fetch_many<'e, 'q: 'e, E>(self, query: E) -> ResultsStream<'e>
    where
        'c: 'e,
        E: Execute<'q, Postgres> + 'q,
    {
        stream_results(self.run(InterceptedStatement::Other, query).boxed())
    }

    fn fetch_optional<'e, 'q: 'e, E>(
        self,
        query: E,
    ) -> BoxFuture<'e, Result<Option<PgRow>, sqlx::Error>>
    where
        'c: 'e,
        E: Execute<'q, Postgres> + 'q,
    {
        let answered = self.run(InterceptedStatement::Other, query);
        answered.map_ok(first_row).boxed()
    }

    fn prepare_with<'e>(
        self,
        _sql: SqlStr,
        _parameters: &'e [PgTypeInfo],
    ) -> BoxFuture<'e, Result<PgStatement, sqlx::Error>>
    where
        'c: 'e,
    {
        ready(Err(unsupported())).boxed()
    }

    fn describe<'e>(self, _sql: SqlStr) -> BoxFuture<'e, Result<Describe<Postgres>, sqlx::Error>>
    where
        'c: 'e,
    {
        ready(Err(unsupported())).boxed()
    }
}

impl<'p> Executor<'p> for &'p Pool {
    type Database = Postgres;

    fn fetch_many<'e, 'q: 'e, E>(self, query: E) -> ResultsStream<'e>
    where
        'p: 'e,
        E: Execute<'q, Postgres> + 'q,
    {
        stream_results(self.run(query).boxed())
    }

    fn fetch_optional<'e, 'q: 'e, E>(
        self,
        query: E,
    ) -> BoxFuture<'e, Result<Option<PgRow>, sqlx::Error>>
    where
        'p: 'e,
        E: Execute<'q, Postgres> + 'q,
    {
        self.run(query).map_ok(first_row).boxed()
    }

    fn prepare_with<'e>(
        self,
        _sql: SqlStr,
        _parameters: &'e [PgTypeInfo],
    ) -> BoxFuture<'e, Result<PgStatement, sqlx::Error>>
    where
        'p: 'e,
    {
        ready(Err(unsupported())).boxed()
    }

    fn describe<'e>(self, _sql: SqlStr) -> BoxFuture<'e, Result<Describe<Postgres>, sqlx::Error>>
    where
        'p: 'e,
    {
        ready(Err(unsupported())).boxed()
    }
}

impl Pool {
    async fn run<'q, E>(&self, query: E) -> Result<StatementResults, sqlx::Error>
    where
        E: Execute<'q, Postgres> + 'q,
    {
        self.acquire()
            .await?
            .run(InterceptedStatement::Other, query)
            .await
    }
}

/// The macros describe statements at compile time, on a separate connection.
fn unsupported() -> sqlx::Error {
    sqlx::Error::Protocol("statements are prepared when they are run".to_owned())
}
