//! One connection to clamd.

use std::io;

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{
    AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadHalf, WriteHalf, split,
};
use tokio::net::{TcpStream, UnixStream};

use super::{Address, ScanFailure};

/// No answer of clamd's is longer.
const MOST_ANSWERED: usize = 4096;

trait Socket: AsyncRead + AsyncWrite + Send + Unpin {}
impl Socket for TcpStream {}
impl Socket for UnixStream {}

pub(super) struct Wire {
    reading: ReadHalf<Box<dyn Socket>>,
    writing: WriteHalf<Box<dyn Socket>>,
    /// What has been said so far.
    heard: BytesMut,
}

impl Wire {
    pub(super) async fn connect(address: &Address) -> Result<Self, ScanFailure> {
        let connected = match address {
            Address::Tcp(address) => TcpStream::connect(address).await.map(boxed),
            Address::Unix(path) => UnixStream::connect(path).await.map(boxed),
        };
        let socket = connected.map_err(|error| ScanFailure::Away(reason(&error)))?;
        let (reading, writing) = split(socket);
        Ok(Self {
            reading,
            writing,
            heard: BytesMut::new(),
        })
    }

    pub(super) async fn send(&mut self, bytes: &[u8]) -> Result<(), ScanFailure> {
        let sent = self.writing.write_all(bytes).await;
        sent.map_err(|_| broken_off())
    }

    /// Sends one chunk, and listens all the while. True: the answer is there, nothing more is wanted.
    pub(super) async fn feed(&mut self, bytes: Bytes) -> Result<bool, ScanFailure> {
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let mut chunk = Bytes::copy_from_slice(&length.to_be_bytes()).chain(bytes);
        let Self {
            reading,
            writing,
            heard,
        } = self;
        let sent = async {
            writing.write_all_buf(&mut chunk).await?;
            writing.flush().await
        };
        let sent = tokio::select! {
            biased;
            answered = hear(reading, heard) => return answered.map(|()| true),
            sent = sent => sent,
        };
        match sent {
            Ok(()) => Ok(false),
            // It hung up; what it said before still waits to be read.
            Err(_) => hear(reading, heard).await.map(|()| true),
        }
    }

    /// The answer, without its end.
    pub(super) async fn answer(&mut self) -> Result<String, ScanFailure> {
        hear(&mut self.reading, &mut self.heard).await?;
        let text = String::from_utf8_lossy(&self.heard);
        Ok(text.split('\0').next().unwrap_or_default().to_owned())
    }
}

/// Listens until the answer is whole: it ends in a zero byte. May be left and taken up again.
async fn hear(
    reading: &mut ReadHalf<Box<dyn Socket>>,
    heard: &mut BytesMut,
) -> Result<(), ScanFailure> {
    while !heard.contains(&0) {
        let read = reading.read_buf(heard).await;
        if read.unwrap_or(0) == 0 || heard.len() > MOST_ANSWERED {
            return Err(broken_off());
        }
    }
    Ok(())
}

fn boxed(socket: impl Socket + 'static) -> Box<dyn Socket> {
    Box::new(socket)
}

fn broken_off() -> ScanFailure {
    ScanFailure::Unclear("it broke off the connection".to_owned())
}

fn reason(error: &io::Error) -> &'static str {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the standard library may add kinds"
    )]
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "connection refused",
        io::ErrorKind::NotFound => "no such socket",
        io::ErrorKind::PermissionDenied => "no permission",
        _ => "could not connect",
    }
}
