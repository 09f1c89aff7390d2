//! Master keys behind a command, so that any key management service can be used.
//!
//! It is called with `wrap ID` or `unwrap ID`, reads base64 from standard input and writes base64 to
//! standard output. It is started directly, without a shell.

use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::master_key::{MasterKeyFailure, MasterKeys};
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// For one call, including the start of the process.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);
/// Of the error text of a command.
const MAX_REASON_CHARS: usize = 200;

/// A program and its first arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MasterKeyCommand {
    pub program: PathBuf,
    pub arguments: Vec<String>,
}

impl MasterKeyCommand {
    /// Words separated by spaces. None unless the first one is an absolute path.
    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let program = PathBuf::from(words.next()?);
        program.is_absolute().then(|| Self {
            program,
            arguments: words.map(str::to_owned).collect(),
        })
    }
}

#[derive(Debug)]
pub struct CommandMasterKeys {
    command: MasterKeyCommand,
    current_id: String,
    call_timeout: Duration,
}

impl CommandMasterKeys {
    pub const fn new(command: MasterKeyCommand, current_id: String) -> Self {
        Self::with_timeout(command, current_id, CALL_TIMEOUT)
    }

    pub const fn with_timeout(
        command: MasterKeyCommand,
        current_id: String,
        call_timeout: Duration,
    ) -> Self {
        Self {
            command,
            current_id,
            call_timeout,
        }
    }

    async fn call(&self, verb: &str, id: &str, input: &[u8]) -> Result<Vec<u8>, MasterKeyFailure> {
        let input = STANDARD.encode(input) + "\n";
        let calling = async {
            let child = self.start(verb, id)?;
            exchange(child, input.as_bytes()).await
        };
        let answered = timeout(self.call_timeout, calling).await;
        let output = answered.map_err(|_| unavailable("it did not answer in time"))??;
        let answer = output.trim_ascii();
        STANDARD
            .decode(answer)
            .ok()
            .filter(|answer| !answer.is_empty())
            .ok_or_else(|| unavailable("its answer is not base64"))
    }

    fn start(&self, verb: &str, id: &str) -> Result<Child, MasterKeyFailure> {
        Command::new(&self.command.program)
            .args(&self.command.arguments)
            .args([verb, id])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            // A terminal's interrupt must reach longshored only.
            .process_group(0)
            .spawn()
            .map_err(|error| failed("it cannot be started", &error))
    }
}

/// Writes the input and returns the output, if the command succeeds.
async fn exchange(mut child: Child, input: &[u8]) -> Result<Vec<u8>, MasterKeyFailure> {
    if let Some(mut stdin) = child.stdin.take() {
        // A command that ends before it has read everything says why by its status.
        let _written = stdin.write_all(input).await;
    }
    let output = child.wait_with_output().await;
    let output = output.map_err(|error| failed("its output cannot be read", &error))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().rfind(|line| !line.trim().is_empty());
    let line: String = line
        .unwrap_or_default()
        .chars()
        .filter(|it| !it.is_control())
        .take(MAX_REASON_CHARS)
        .collect();
    Err(unavailable(&format!("{}: {line}", output.status)))
}

fn failed(what: &str, error: &io::Error) -> MasterKeyFailure {
    unavailable(&format!("{what}: {}", error.kind()))
}

fn unavailable(reason: &str) -> MasterKeyFailure {
    MasterKeyFailure::Unavailable(reason.to_owned())
}

#[async_trait]
impl MasterKeys for CommandMasterKeys {
    fn current_id(&self) -> &str {
        &self.current_id
    }

    async fn wrap_key(&self, plain: &[u8]) -> Result<Vec<u8>, MasterKeyFailure> {
        self.call("wrap", &self.current_id, plain).await
    }

    async fn unwrap_key(&self, id: &str, wrapped: &[u8]) -> Result<Vec<u8>, MasterKeyFailure> {
        self.call("unwrap", id, wrapped).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A shell that runs this script, as an operator would write it; the verb is `$1`, the id `$2`.
    fn keys(script: &str) -> CommandMasterKeys {
        let command = MasterKeyCommand {
            program: PathBuf::from("/bin/sh"),
            arguments: vec!["-c".to_owned(), script.to_owned(), "kms".to_owned()],
        };
        CommandMasterKeys::with_timeout(command, "key/1".to_owned(), Duration::from_secs(5))
    }

    async fn failure_of(script: &str) -> String {
        let failure = keys(script).wrap_key(b"plain").await.unwrap_err();
        failure.to_string()
    }

    #[tokio::test]
    async fn a_command_wraps_and_unwraps_with_the_id() {
        // The wrapped key is the verb's input behind the id, in base64 once more.
        let keys = keys(
            r#"read line
               case $1 in
                   wrap) printf '%s %s' "$2" "$line" | base64 -w0 ;;
                   unwrap) printf '%s' "$line" | base64 -d | cut -d' ' -f2 ;;
               esac"#,
        );
        let wrapped = keys.wrap_key(b"plain").await.unwrap();
        assert_eq!(wrapped, b"key/1 cGxhaW4=");
        let plain = keys.unwrap_key("key/1", &wrapped).await;
        assert_eq!(plain, Ok(b"plain".to_vec()));
    }

    #[tokio::test]
    async fn a_command_that_fails_says_why() {
        insta::assert_snapshot!(failure_of("echo no such key >&2; exit 3").await, @"SVC_MASTER_KEY_COMMAND failed: exit status: 3: no such key");
        insta::assert_snapshot!(failure_of("echo 'not base64!'").await, @"SVC_MASTER_KEY_COMMAND failed: its answer is not base64");
        insta::assert_snapshot!(failure_of("true").await, @"SVC_MASTER_KEY_COMMAND failed: its answer is not base64");
        let missing = MasterKeyCommand::parse("/nonexistent/kms --fast").unwrap();
        assert_eq!(missing.arguments, ["--fast"]);
        let missing = CommandMasterKeys::new(missing, "1".to_owned());
        let failure = missing.wrap_key(b"").await.unwrap_err();
        insta::assert_snapshot!(failure, @"SVC_MASTER_KEY_COMMAND failed: it cannot be started: entity not found");
        assert_eq!(MasterKeyCommand::parse("kms"), None);
    }

    #[tokio::test]
    async fn a_command_that_hangs_is_killed() {
        let mut hanging = keys("exec sleep 600");
        hanging.call_timeout = Duration::from_millis(50);
        let failure = hanging.wrap_key(b"plain").await.unwrap_err();
        insta::assert_snapshot!(failure, @"SVC_MASTER_KEY_COMMAND failed: it did not answer in time");
    }
}
