//! The commands of docs/backup-and-restore.md, which the trial runs.

use crate::harness::{ChildProgram, FailureContext as _, Result};

const PAGE: &str = include_str!("../../../../../docs/backup-and-restore.md");

/// The block of commands whose first line is this comment, as a script that runs in `TRIAL_FOLDER`.
pub fn script(comment: &str) -> Result<ChildProgram> {
    let block = find_block(PAGE, comment).context(format!("the page has no block: {comment}"))?;
    let script = format!("set -euo pipefail\ncd \"$TRIAL_FOLDER\"\n{block}");
    Ok(ChildProgram::new("bash").with_arguments(["-c".to_owned(), script]))
}

fn find_block<'a>(page: &'a str, comment: &str) -> Option<&'a str> {
    let mut blocks = page.split("```sh\n").skip(1);
    let is_wanted = |block: &&str| block.lines().next() == Some(&format!("# {comment}"));
    let block = blocks.find(is_wanted)?;
    block.split("```").next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_found_by_its_comment() {
        let page = "text\n```sh\n# one\na\n```\n```ini\nb\n```\n```sh\n# two\nc\nd\n```\nend";
        assert_eq!(find_block(page, "one"), Some("# one\na\n"));
        assert_eq!(find_block(page, "two"), Some("# two\nc\nd\n"));
        assert_eq!(find_block(page, "three"), None);
    }
}
