//! The files of the checkout, and the violations that a rule finds in them.

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

/// One file: its path from the root, with `/`, and its text.
#[derive(Debug)]
pub struct SourceFile {
    pub path: String,
    /// Empty if the file is not UTF-8.
    pub text: String,
}

#[derive(Debug)]
pub struct SourceTree {
    pub files: Vec<SourceFile>,
}

/// One violation of a rule, and where.
#[derive(Debug, PartialEq, Eq)]
pub struct RuleViolation {
    pub path: String,
    pub line: usize,
    pub message: String,
}

impl SourceTree {
    /// A tree for tests.
    pub fn from_files(files: &[(&str, &str)]) -> Self {
        let files = files
            .iter()
            .map(|(path, text)| SourceFile {
                path: (*path).to_owned(),
                text: (*text).to_owned(),
            })
            .collect();
        Self { files }
    }

    /// All files that git tracks or would add, without build output.
    pub fn read(root: &Path) -> io::Result<Self> {
        let listed = Command::new("git")
            .args([
                "ls-files",
                "-z",
                "--cached",
                "--others",
                "--exclude-standard",
            ])
            .current_dir(root)
            .output()?;
        if !listed.status.success() {
            let message = String::from_utf8_lossy(&listed.stderr).into_owned();
            return Err(io::Error::other(message));
        }
        let names = String::from_utf8_lossy(&listed.stdout).into_owned();
        let mut files = Vec::new();
        for path in names.split('\0').filter(|name| !name.is_empty()) {
            // A deleted file is listed until the deletion is committed.
            let Ok(bytes) = fs::read(root.join(path)) else {
                continue;
            };
            let text = String::from_utf8(bytes).unwrap_or_default();
            files.push(SourceFile {
                path: path.to_owned(),
                text,
            });
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Self { files })
    }

    pub fn rust_files(&self) -> impl Iterator<Item = &SourceFile> {
        self.files_ending_with(".rs")
    }

    pub fn files_ending_with(&self, suffix: &str) -> impl Iterator<Item = &SourceFile> {
        self.files
            .iter()
            .filter(move |file| file.path.ends_with(suffix))
    }

    /// Whether the path is one of our files, or a folder that contains some.
    pub fn contains_path(&self, path: &str) -> bool {
        self.files.iter().any(|file| {
            file.path == path
                || path.is_empty()
                || file
                    .path
                    .strip_prefix(path)
                    .is_some_and(|rest| rest.starts_with('/'))
        })
    }
}

impl SourceFile {
    pub fn violation(&self, line: usize, what: impl Into<String>) -> RuleViolation {
        RuleViolation {
            path: self.path.clone(),
            line,
            message: what.into(),
        }
    }

    /// Whether the whole file is test code.
    pub fn is_test(&self) -> bool {
        self.path.contains("/tests/") || self.path.ends_with("/tests.rs")
    }
}

impl fmt::Display for RuleViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::SourceTree;

    #[test]
    fn a_tree_contains_the_folders_of_its_files() {
        let tree = SourceTree::from_files(&[("docs/decisions/0001.md", "")]);
        assert!(tree.contains_path("docs/decisions"));
        assert!(tree.contains_path("docs/decisions/0001.md"));
        assert!(!tree.contains_path("docs/dec"));
    }
}
