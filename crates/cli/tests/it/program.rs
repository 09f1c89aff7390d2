//! Runs the command line, and keeps its files in a folder of the test.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A folder that is removed at the end of the test.
pub(crate) struct TestFolder(PathBuf);

impl TestFolder {
    pub(crate) fn new(name: &str) -> Self {
        let name = format!("longshore-cli-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _removed = std::fs::remove_dir_all(&self.0);
    }
}

/// What a command printed, and its exit code.
pub(crate) struct CommandOutput {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for CommandOutput {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// The program without the environment of the test run.
pub(crate) fn longshore(folder: &TestFolder) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_longshore"));
    command
        .env_clear()
        .env("XDG_CONFIG_HOME", folder.path())
        .env("XDG_CACHE_HOME", folder.path())
        .current_dir(folder.path())
        .stdin(Stdio::null());
    command
}

pub(crate) fn run(folder: &TestFolder, arguments: &[&str]) -> CommandOutput {
    let output = longshore(folder).args(arguments).output();
    output.unwrap().into()
}
