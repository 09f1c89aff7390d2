//! Writes what fuzzing begins with: `seeds sniff|probe FOLDER LONGEST`.

use std::path::PathBuf;
use std::{env, fs, io};

use domain::file::MediaType;
use probe::corpus::all;

fn main() -> io::Result<()> {
    let mut arguments = env::args().skip(1);
    let target = arguments.next().unwrap_or_default();
    let folder = PathBuf::from(arguments.next().unwrap_or_default());
    let longest = arguments.next().and_then(|it| it.parse().ok());
    let longest: usize = longest.unwrap_or(usize::MAX);
    for (index, specimen) in all().into_iter().enumerate() {
        let mut bytes = specimen.bytes;
        if target == "probe" {
            let named = MediaType::ALL
                .iter()
                .position(|it| *it == specimen.media_type);
            bytes.insert(0, u8::try_from(named.unwrap_or(0)).unwrap_or(0));
        }
        if bytes.len() <= longest {
            fs::write(folder.join(index.to_string()), bytes)?;
        }
    }
    Ok(())
}
