//! A real Redis for one test: on a port of its own, with nothing on disk, gone with the test.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const PROGRAM: &str = "redis-server";
/// How long it may take to start; it takes a few milliseconds.
const START: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub(crate) struct Redis {
    port: u16,
    more: Vec<String>,
    process: Option<Child>,
}

impl Redis {
    pub(crate) fn new() -> Self {
        Self::with(&[])
    }

    /// With more arguments, such as `--requirepass` and a password.
    pub(crate) fn with(more: &[&str]) -> Self {
        // Another test may take the port between our look and Redis's.
        loop {
            let mut redis = Self {
                port: free_port(),
                more: more.iter().map(|&argument| argument.to_owned()).collect(),
                process: None,
            };
            if redis.start() {
                return redis;
            }
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// Says whether it came up; it does not when the port was taken meanwhile.
    pub(crate) fn start(&mut self) -> bool {
        let child = Command::new(PROGRAM)
            .args(["--port", &self.port.to_string(), "--bind", "127.0.0.1"])
            .args(["--save", "", "--appendonly", "no"])
            .args(&self.more)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        assert!(child.is_ok(), "{PROGRAM} must be in PATH: ./dev deps");
        let child = self.process.insert(child.unwrap());
        let began = Instant::now();
        loop {
            assert!(began.elapsed() < START, "{PROGRAM} does not answer");
            if child.try_wait().unwrap().is_some() {
                return false;
            }
            if say(self.port, "PING").is_ok_and(|it| it.starts_with('+') || it.starts_with('-')) {
                return true;
            }
            sleep(Duration::from_millis(2));
        }
    }

    /// Ends it at once, as a crash would. What it counted is gone.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.process.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// It holds its connections and does nothing.
    pub(crate) fn freeze(&self) {
        self.signal("-STOP");
    }

    pub(crate) fn thaw(&self) {
        self.signal("-CONT");
    }

    /// A command without spaces in its words, and the first piece of its answer.
    pub(crate) fn say(&self, command: &str) -> String {
        say(self.port, command).unwrap()
    }

    fn signal(&self, signal: &str) {
        let pid = self.process.as_ref().unwrap().id().to_string();
        let sent = Command::new("kill").args([signal, &pid]).status().unwrap();
        assert!(sent.success());
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.kill();
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

fn say(port: u16, command: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(START))?;
    stream.write_all(format!("{command}\r\n").as_bytes())?;
    let mut answer = [0; 4096];
    let length = stream.read(&mut answer)?;
    Ok(String::from_utf8_lossy(answer.get(..length).unwrap()).into_owned())
}
