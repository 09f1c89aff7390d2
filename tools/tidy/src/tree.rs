//! The files of the checkout, and what a rule found in them.

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

/// One file: its path from the root, with `/`, and its text.
#[derive(Debug)]
pub struct File {
    pub path: String,
    /// Empty when the file is no UTF-8 text.
    pub text: String,
}

#[derive(Debug)]
pub struct Tree {
    pub files: Vec<File>,
}

/// One thing that is wrong, and where.
#[derive(Debug, PartialEq, Eq)]
pub struct Finding {
    pub path: String,
    pub line: usize,
    pub what: String,
}

impl Tree {
    /// A made-up tree.
    pub fn of(files: &[(&str, &str)]) -> Self {
        let files = files
            .iter()
            .map(|(path, text)| File {
                path: (*path).to_owned(),
                text: (*text).to_owned(),
            })
            .collect();
        Self { files }
    }

    /// What git keeps or would take in, so that build output and scratch do not count.
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
            let complaint = String::from_utf8_lossy(&listed.stderr).into_owned();
            return Err(io::Error::other(complaint));
        }
        let names = String::from_utf8_lossy(&listed.stdout).into_owned();
        let mut files = Vec::new();
        for path in names.split('\0').filter(|name| !name.is_empty()) {
            // A file that was removed but is not yet committed so is still listed.
            let Ok(bytes) = fs::read(root.join(path)) else {
                continue;
            };
            let text = String::from_utf8(bytes).unwrap_or_default();
            files.push(File {
                path: path.to_owned(),
                text,
            });
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Self { files })
    }

    pub fn rust(&self) -> impl Iterator<Item = &File> {
        self.ending(".rs")
    }

    pub fn ending(&self, suffix: &str) -> impl Iterator<Item = &File> {
        self.files
            .iter()
            .filter(move |file| file.path.ends_with(suffix))
    }

    /// Whether the path is one of our files, or a folder that holds some.
    pub fn holds(&self, path: &str) -> bool {
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

impl File {
    pub fn finding(&self, line: usize, what: impl Into<String>) -> Finding {
        Finding {
            path: self.path.clone(),
            line,
            what: what.into(),
        }
    }

    /// Whether a file of this path is test code as a whole.
    pub fn is_test(&self) -> bool {
        self.path.contains("/tests/") || self.path.ends_with("/tests.rs")
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

#[cfg(test)]
mod tests {
    use super::Tree;

    #[test]
    fn a_folder_is_held_by_its_files() {
        let tree = Tree::of(&[("docs/decisions/0001.md", "")]);
        assert!(tree.holds("docs/decisions"));
        assert!(tree.holds("docs/decisions/0001.md"));
        assert!(!tree.holds("docs/dec"));
    }
}
