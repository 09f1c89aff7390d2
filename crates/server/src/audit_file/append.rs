//! Appends lines to a file, or to standard output.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// The path that stands for standard output.
pub const STANDARD_OUTPUT: &str = "-";

/// Not for all users of the machine: the log holds e-mail addresses and IP addresses.
const NEW_FILE_MODE: u32 = 0o640;

/// Returns when the lines are on disk.
///
/// The file is opened for each call, so that lines go to a new file after the old one was renamed,
/// as logrotate(8) does.
pub(super) fn append_lines(path: &Path, lines: &[u8]) -> io::Result<()> {
    if path == Path::new(STANDARD_OUTPUT) {
        let mut out = io::stdout().lock();
        return out.write_all(lines).and_then(|()| out.flush());
    }
    let mut options = OpenOptions::new();
    options.create(true).append(true).read(true);
    let mut file = options.mode(NEW_FILE_MODE).open(path)?;
    if ends_inside_line(&mut file)? {
        file.write_all(b"\n")?;
    }
    file.write_all(lines)?;
    file.sync_data()
}

/// A process that died, or a full disk, may have left a part of a line.
fn ends_inside_line(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last != [b'\n'])
}
