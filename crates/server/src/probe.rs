//! `longshored probe MEDIA_TYPE`: reads an uploaded file on standard input, in a sandbox of its own.
//!
//! Workers start it for every file. It reads no setting but its arguments, opens nothing, logs nothing, and says in
//! one line what the file is.

use std::env;
use std::error::Error;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::panic;
use std::process::{Command, ExitCode};

use clap::Args;
use domain::file::MediaType;
use domain::probe::{READY, say};
use probe::sandbox::{Held, LIMITS, Limits, limit, seal};

use crate::failure;

#[derive(Debug, Args)]
pub struct ProbeCommand {
    /// What the file was declared as, such as image/png.
    #[arg(value_parser = media_type)]
    media_type: MediaType,
    #[arg(long, default_value_t = LIMITS.memory_bytes)]
    memory_bytes: u64,
    #[arg(long, default_value_t = LIMITS.cpu_seconds)]
    cpu_seconds: u64,
}

fn media_type(text: &str) -> Result<MediaType, String> {
    MediaType::parse(text).ok_or_else(|| "no media type that files may have".to_owned())
}

pub fn run(command: &ProbeCommand) -> ExitCode {
    if let Err(failure) = confine(command) {
        // Standard output, for the parent hears nothing else. No byte of the file was read.
        let _told = writeln!(io::stdout(), "{}", failure::chain(&*failure));
        return ExitCode::FAILURE;
    }
    match answer(command.media_type) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn confine(command: &ProbeCommand) -> Result<(), Box<dyn Error>> {
    let limits = Limits {
        memory_bytes: command.memory_bytes,
        cpu_seconds: command.cpu_seconds,
    };
    if limit(&limits)? == Held::FromNowOn {
        let again = Command::new(env::current_exe()?)
            .args(env::args_os().skip(1))
            .env_clear()
            .exec();
        return Err(again.into());
    }
    // What a parser says in its last moment may be made of the file.
    panic::set_hook(Box::new(|_| {}));
    seal()?;
    Ok(())
}

fn answer(media_type: MediaType) -> io::Result<()> {
    let mut output = io::stdout();
    write!(output, "{READY}")?;
    output.flush()?;
    let found = probe::read(media_type, io::stdin().lock());
    writeln!(output, "{}", say(found))?;
    output.flush()
}
