//! Writes the first corpus for fuzzing: `seeds sniff|probe FOLDER MAX_BYTES`.

use std::path::PathBuf;
use std::{env, fs, io};

use domain::file::MediaType;
use test_support::corpus::all_files;

fn main() -> io::Result<()> {
    let mut arguments = env::args().skip(1);
    let target = arguments.next().unwrap_or_default();
    let folder = PathBuf::from(arguments.next().unwrap_or_default());
    let max_bytes = arguments.next().and_then(|it| it.parse().ok());
    let max_bytes: usize = max_bytes.unwrap_or(usize::MAX);
    for (index, file) in all_files().into_iter().enumerate() {
        let mut bytes = file.bytes;
        if target == "probe" {
            let position = MediaType::ALL
                .iter()
                .position(|it| *it == file.media_type);
            bytes.insert(0, u8::try_from(position.unwrap_or(0)).unwrap_or(0));
        }
        if bytes.len() <= max_bytes {
            fs::write(folder.join(index.to_string()), bytes)?;
        }
    }
    Ok(())
}
