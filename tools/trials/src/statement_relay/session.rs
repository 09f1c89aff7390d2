//! One session of a client with the server, and what becomes of its statements.

use std::io;
use std::net::SocketAddr;

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedWriteHalf;

use super::statement::Statements;
use super::{Faults, StatementFault, StatementKind};
use crate::pgwire::{self, FAILED, IDLE, IN_TRANSACTION, Message, MessageReader};

/// A statement that the server cannot run: it fails the transaction that it stands in.
const FAILING: &str = "select 1 / 0";
const CLOSED_BY_ADMINISTRATOR: &str = "57P01";

pub(super) struct Session {
    from_client: MessageReader,
    to_client: OwnedWriteHalf,
    from_server: MessageReader,
    to_server: OwnedWriteHalf,
    /// What the server said last about the transaction.
    state: u8,
    /// Groups of messages that the server has yet to answer.
    unanswered: usize,
    /// Messages that wait for the end of their group.
    group: Vec<u8>,
    statements: Statements,
    faults: Faults,
}

/// Whether the session goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Continue,
    End,
}

impl Session {
    /// Passes the beginning of the session on; a request to cancel is no session.
    pub(super) async fn open(
        client: TcpStream,
        server: SocketAddr,
        faults: Faults,
    ) -> io::Result<Option<Self>> {
        client.set_nodelay(true)?;
        let server = TcpStream::connect(server).await?;
        server.set_nodelay(true)?;
        let (from_client, mut to_client) = client.into_split();
        let (from_server, mut to_server) = server.into_split();
        let mut from_client = MessageReader::new(from_client);
        loop {
            let Some((code, packet)) = from_client.first_packet().await? else {
                return Ok(None);
            };
            match code {
                // Nothing is encrypted on the way: the relay must read it.
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
            from_server: MessageReader::new(from_server),
            to_server,
            state: IDLE,
            // The server says when it is ready for the first.
            unanswered: 1,
            group: Vec::new(),
            statements: Statements::default(),
            faults,
        }))
    }

    pub(super) async fn run(&mut self) -> io::Result<()> {
        loop {
            let next = tokio::select! {
                message = self.from_client.next() => match message? {
                    Some(message) => self.take(&message).await?,
                    None => Next::End,
                },
                message = self.from_server.next() => match message? {
                    Some(message) => self.answer(message).await?,
                    None => Next::End,
                },
            };
            if next == Next::End {
                return Ok(());
            }
        }
    }

    /// Passes on what the server says.
    async fn answer(&mut self, first: Message) -> io::Result<Next> {
        let mut passed = Vec::new();
        let mut next = Some(first);
        while let Some(message) = next {
            if let Some(state) = message.ready_state() {
                self.state = state;
                self.unanswered = self.unanswered.saturating_sub(1);
            }
            passed.extend(message.bytes);
            next = self.from_server.buffered()?;
        }
        self.to_client.write_all(&passed).await?;
        Ok(Next::Continue)
    }

    /// Collects what the client says until a group is complete.
    async fn take(&mut self, message: &Message) -> io::Result<Next> {
        let kind = self.statements.follow(message);
        self.group.extend(&message.bytes);
        match message.tag {
            b'Q' | b'S' => {}
            // These belong to a group that is not complete.
            b'P' | b'B' | b'D' | b'E' | b'C' => return Ok(Next::Continue),
            _ => {
                self.pass_group().await?;
                return Ok(Next::Continue);
            }
        }
        if let Some(kind) = kind
            && let Some(fault) = self.faults.draw(kind)
        {
            return self.suffer(kind, fault).await;
        }
        self.unanswered += 1;
        self.pass_group().await?;
        Ok(Next::Continue)
    }

    async fn pass_group(&mut self) -> io::Result<()> {
        let group = std::mem::take(&mut self.group);
        self.to_server.write_all(&group).await
    }

    async fn suffer(&mut self, kind: StatementKind, fault: StatementFault) -> io::Result<Next> {
        // What came before is answered before.
        while self.unanswered > 0 {
            match self.from_server.next().await? {
                Some(message) => self.answer(message).await?,
                None => return Ok(Next::End),
            };
        }
        match fault {
            StatementFault::Fail { sqlstate } => return self.fail(kind, sqlstate).await,
            StatementFault::FailAndClose => return self.fail_and_close().await,
            StatementFault::Hang => self.stay_silent().await,
            StatementFault::LoseAnswer => {
                self.pass_group().await?;
                self.swallow_answer().await?;
                self.stay_silent().await;
            }
            StatementFault::LoseAnswerAndClose => {
                self.pass_group().await?;
                self.swallow_answer().await?;
            }
        }
        Ok(Next::End)
    }

    /// An error instead of the statement; the server's transaction then stands as after one.
    async fn fail(&mut self, kind: StatementKind, sqlstate: &str) -> io::Result<Next> {
        self.group.clear();
        match (self.state, kind) {
            // A server that cannot roll back is a server that goes away.
            (_, StatementKind::Rollback) => return self.fail_and_close().await,
            // A commit that fails has rolled back.
            (IN_TRANSACTION | FAILED, StatementKind::Commit) => {
                self.run_instead("rollback").await?;
            }
            (IN_TRANSACTION, _) => self.run_instead(FAILING).await?,
            _ => {}
        }
        let text = "the relay failed this statement";
        let error = pgwire::error_response("ERROR", sqlstate, text);
        let answer = [error, pgwire::ready_for_query(self.state)].concat();
        self.to_client.write_all(&answer).await?;
        Ok(Next::Continue)
    }

    async fn fail_and_close(&mut self) -> io::Result<Next> {
        let text = "terminating connection due to administrator command";
        let error = pgwire::error_response("FATAL", CLOSED_BY_ADMINISTRATOR, text);
        self.to_client.write_all(&error).await?;
        Ok(Next::End)
    }

    async fn run_instead(&mut self, sql: &str) -> io::Result<()> {
        self.to_server.write_all(&pgwire::query(sql)).await?;
        self.swallow_answer().await
    }

    async fn swallow_answer(&mut self) -> io::Result<()> {
        while let Some(message) = self.from_server.next().await? {
            if let Some(state) = message.ready_state() {
                self.state = state;
                return Ok(());
            }
        }
        Err(io::ErrorKind::UnexpectedEof.into())
    }

    /// Nothing passes any more, in neither direction, until the client hangs up.
    async fn stay_silent(&mut self) {
        let server = async {
            self.from_server.closed().await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = self.from_client.closed() => {}
            () = server => {}
        }
    }
}
