//! One session between a client and the server, with faults for its statements.

use std::io;
use std::net::SocketAddr;

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedWriteHalf;

use super::statement::PreparedStatements;
use super::{FaultDraws, StatementFault, StatementKind};
use crate::harness::relays::pgwire::{
    self, PgMessage, PgMessageReader, TRANSACTION_FAILED, TRANSACTION_IDLE, TRANSACTION_OPEN,
};

/// A statement that always fails, and with it its transaction.
const FAILING_QUERY: &str = "select 1 / 0";
const ADMIN_SHUTDOWN_SQLSTATE: &str = "57P01";

pub(super) struct RelaySession {
    from_client: PgMessageReader,
    to_client: OwnedWriteHalf,
    from_server: PgMessageReader,
    to_server: OwnedWriteHalf,
    /// The last transaction state of the server.
    transaction_state: u8,
    /// Groups of messages that the server has not answered yet.
    unanswered_groups: usize,
    /// Messages of a group that is not complete.
    group: Vec<u8>,
    statements: PreparedStatements,
    faults: FaultDraws,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SessionStep {
    Continue,
    End,
}

impl RelaySession {
    /// Relays the start of a session; a cancel request does not open one.
    pub(super) async fn open(
        client: TcpStream,
        server: SocketAddr,
        faults: FaultDraws,
    ) -> io::Result<Option<Self>> {
        client.set_nodelay(true)?;
        let server = TcpStream::connect(server).await?;
        server.set_nodelay(true)?;
        let (from_client, mut to_client) = client.into_split();
        let (from_server, mut to_server) = server.into_split();
        let mut from_client = PgMessageReader::new(from_client);
        loop {
            let Some((code, packet)) = from_client.read_first_packet().await? else {
                return Ok(None);
            };
            match code {
                // The relay must read the messages, so it refuses encryption.
                pgwire::SSL_REQUEST | pgwire::GSS_REQUEST => to_client.write_all(b"N").await?,
                pgwire::CANCEL_REQUEST => {
                    to_server.write_all(&packet).await?;
                    return Ok(None);
                }
                _ => {
                    to_server.write_all(&packet).await?;
                    break;
                }
            }
        }
        Ok(Some(Self {
            from_client,
            to_client,
            from_server: PgMessageReader::new(from_server),
            to_server,
            transaction_state: TRANSACTION_IDLE,
            // The server first reports that it is ready.
            unanswered_groups: 1,
            group: Vec::new(),
            statements: PreparedStatements::default(),
            faults,
        }))
    }

    pub(super) async fn run(&mut self) -> io::Result<()> {
        loop {
            let next = tokio::select! {
                message = self.from_client.read_message() => match message? {
                    Some(message) => self.handle_client_message(&message).await?,
                    None => SessionStep::End,
                },
                message = self.from_server.read_message() => match message? {
                    Some(message) => self.forward_answer(message).await?,
                    None => SessionStep::End,
                },
            };
            if next == SessionStep::End {
                return Ok(());
            }
        }
    }

    /// Forwards the server's messages.
    async fn forward_answer(&mut self, first: PgMessage) -> io::Result<SessionStep> {
        let mut passed = Vec::new();
        let mut next = Some(first);
        while let Some(message) = next {
            if let Some(state) = message.transaction_state() {
                self.transaction_state = state;
                self.unanswered_groups = self.unanswered_groups.saturating_sub(1);
            }
            passed.extend(message.bytes);
            next = self.from_server.take_buffered_message()?;
        }
        self.to_client.write_all(&passed).await?;
        Ok(SessionStep::Continue)
    }

    /// Collects the client's messages until a group is complete.
    async fn handle_client_message(&mut self, message: &PgMessage) -> io::Result<SessionStep> {
        let kind = self.statements.observe(message);
        self.group.extend(&message.bytes);
        match message.tag {
            b'Q' | b'S' => {}
            // Parts of a group that is not complete.
            b'P' | b'B' | b'D' | b'E' | b'C' => return Ok(SessionStep::Continue),
            _ => {
                self.forward_group().await?;
                return Ok(SessionStep::Continue);
            }
        }
        if let Some(kind) = kind
            && let Some(fault) = self.faults.draw(kind)
        {
            return self.apply_fault(kind, fault).await;
        }
        self.unanswered_groups += 1;
        self.forward_group().await?;
        Ok(SessionStep::Continue)
    }

    async fn forward_group(&mut self) -> io::Result<()> {
        let group = std::mem::take(&mut self.group);
        self.to_server.write_all(&group).await
    }

    async fn apply_fault(
        &mut self,
        kind: StatementKind,
        fault: StatementFault,
    ) -> io::Result<SessionStep> {
        // Earlier groups are answered first.
        while self.unanswered_groups > 0 {
            match self.from_server.read_message().await? {
                Some(message) => self.forward_answer(message).await?,
                None => return Ok(SessionStep::End),
            };
        }
        match fault {
            StatementFault::Fail { sqlstate } => return self.fail(kind, sqlstate).await,
            StatementFault::FailAndClose => return self.fail_and_close().await,
            StatementFault::Hang => self.hang_until_closed().await,
            StatementFault::LoseAnswer => {
                self.forward_group().await?;
                self.discard_answer().await?;
                self.hang_until_closed().await;
            }
            StatementFault::LoseAnswerAndClose => {
                self.forward_group().await?;
                self.discard_answer().await?;
            }
        }
        Ok(SessionStep::End)
    }

    /// Answers with an error; the server's transaction fails as well.
    async fn fail(&mut self, kind: StatementKind, sqlstate: &str) -> io::Result<SessionStep> {
        self.group.clear();
        match (self.transaction_state, kind) {
            // A server that cannot roll back is a server that goes away.
            (_, StatementKind::Rollback) => return self.fail_and_close().await,
            // A failed commit has rolled back.
            (TRANSACTION_OPEN | TRANSACTION_FAILED, StatementKind::Commit) => {
                self.run_substitute("rollback").await?;
            }
            (TRANSACTION_OPEN, _) => self.run_substitute(FAILING_QUERY).await?,
            _ => {}
        }
        let text = "the relay failed this statement";
        let error = pgwire::encode_error_response("ERROR", sqlstate, text);
        let answer = [
            error,
            pgwire::encode_ready_for_query(self.transaction_state),
        ]
        .concat();
        self.to_client.write_all(&answer).await?;
        Ok(SessionStep::Continue)
    }

    async fn fail_and_close(&mut self) -> io::Result<SessionStep> {
        let text = "terminating connection due to administrator command";
        let error = pgwire::encode_error_response("FATAL", ADMIN_SHUTDOWN_SQLSTATE, text);
        self.to_client.write_all(&error).await?;
        Ok(SessionStep::End)
    }

    async fn run_substitute(&mut self, sql: &str) -> io::Result<()> {
        self.to_server.write_all(&pgwire::encode_query(sql)).await?;
        self.discard_answer().await
    }

    async fn discard_answer(&mut self) -> io::Result<()> {
        while let Some(message) = self.from_server.read_message().await? {
            if let Some(state) = message.transaction_state() {
                self.transaction_state = state;
                return Ok(());
            }
        }
        Err(io::ErrorKind::UnexpectedEof.into())
    }

    /// Passes nothing in either direction until the client closes.
    async fn hang_until_closed(&mut self) {
        let server = async {
            self.from_server.wait_until_closed().await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = self.from_client.wait_until_closed() => {}
            () = server => {}
        }
    }
}
