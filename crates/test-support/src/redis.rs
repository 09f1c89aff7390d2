//! A real Redis for one test: on its own port, without persistence, killed with the test.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const PROGRAM: &str = "redis-server";
/// Redis usually starts in a few milliseconds.
const START_TIMEOUT: Duration = Duration::from_mins(1);

#[derive(Debug)]
pub struct RedisServer {
    port: u16,
    extra_arguments: Vec<String>,
    process: Option<Child>,
}

impl RedisServer {
    #[expect(
        clippy::new_without_default,
        reason = "a default does not start a process"
    )]
    pub fn new() -> Self {
        Self::with_arguments(&[])
    }

    /// With more arguments, such as `--requirepass` and a password.
    pub fn with_arguments(more: &[&str]) -> Self {
        // Another test may take the port before Redis binds it.
        loop {
            let mut redis = Self {
                port: free_port(),
                extra_arguments: more.iter().map(|&argument| argument.to_owned()).collect(),
                process: None,
            };
            if redis.start() {
                return redis;
            }
        }
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub const fn port(&self) -> u16 {
        self.port
    }

    /// False: the port was taken.
    pub fn start(&mut self) -> bool {
        let child = Command::new(PROGRAM)
            .args(["--port", &self.port.to_string(), "--bind", "127.0.0.1"])
            .args(["--save", "", "--appendonly", "no"])
            .args(&self.extra_arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        assert!(child.is_ok(), "{PROGRAM} must be in PATH: ./dev deps");
        let child = self.process.insert(child.unwrap());
        let began = Instant::now();
        loop {
            assert!(began.elapsed() < START_TIMEOUT, "{PROGRAM} does not answer");
            if child.try_wait().unwrap().is_some() {
                return false;
            }
            if send_command(self.port, "PING")
                .is_ok_and(|it| it.starts_with('+') || it.starts_with('-'))
            {
                return true;
            }
            sleep(Duration::from_millis(2));
        }
    }

    /// Kills the process, as a crash would. Its data is lost.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.process.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Stops the process. Its connections stay open.
    pub fn freeze(&self) {
        self.signal("-STOP");
    }

    pub fn resume(&self) {
        self.signal("-CONT");
    }

    /// Sends an inline command and returns the start of the answer.
    pub fn command(&self, command: &str) -> String {
        send_command(self.port, command).unwrap()
    }

    fn signal(&self, signal: &str) {
        let pid = self.process.as_ref().unwrap().id().to_string();
        let sent = Command::new("kill").args([signal, &pid]).status().unwrap();
        assert!(sent.success());
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A free port below those that the kernel gives to connections, so that a restarted Redis finds
/// its port free.
fn free_port() -> u16 {
    loop {
        let port = rand::random_range(12_000..32_000);
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

fn send_command(port: u16, command: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(START_TIMEOUT))?;
    stream.write_all(format!("{command}\r\n").as_bytes())?;
    let mut answer = [0; 4096];
    let length = stream.read(&mut answer)?;
    Ok(String::from_utf8_lossy(answer.get(..length).unwrap()).into_owned())
}
