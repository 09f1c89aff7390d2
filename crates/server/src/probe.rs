//! `longshored probe MEDIA_TYPE`: parses an uploaded file from standard input in a sandbox.
//!
//! Workers start it for every file. It uses only its arguments, opens no file, logs nothing, and
//! prints one line that describes the file.

use std::env;
use std::error::Error;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::panic;
use std::process::{Command, ExitCode};

use clap::Args;
use domain::error_chain;
use domain::file::MediaType;
use domain::probe_protocol::{READY_LINE, encode_result};
use probe::sandbox::{
    DEFAULT_LIMITS, LimitsInForce, SandboxLimits, apply_limits, install_seccomp_filter,
};

#[derive(Debug, Args)]
pub struct ProbeCommand {
    /// The declared media type of the file, such as image/png.
    #[arg(value_parser = media_type)]
    media_type: MediaType,
    #[arg(long, default_value_t = DEFAULT_LIMITS.memory_bytes)]
    memory_bytes: u64,
    #[arg(long, default_value_t = DEFAULT_LIMITS.cpu_seconds)]
    cpu_seconds: u64,
}

fn media_type(text: &str) -> Result<MediaType, String> {
    MediaType::parse(text).ok_or_else(|| "not a media type that files may have".to_owned())
}

pub fn run(command: &ProbeCommand) -> ExitCode {
    if let Err(failure) = confine(command) {
        // On standard output: the parent reads nothing else. No byte of the file was read yet.
        let _written = writeln!(io::stdout(), "{}", error_chain::chain(&*failure));
        return ExitCode::FAILURE;
    }
    match probe_standard_input(command.media_type) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn confine(command: &ProbeCommand) -> Result<(), Box<dyn Error>> {
    let limits = SandboxLimits {
        memory_bytes: command.memory_bytes,
        cpu_seconds: command.cpu_seconds,
    };
    if apply_limits(&limits)? == LimitsInForce::RestartNeeded {
        let restarted = Command::new(env::current_exe()?)
            .args(env::args_os().skip(1))
            .env_clear()
            .exec();
        return Err(restarted.into());
    }
    // A parser's panic message may quote the file.
    panic::set_hook(Box::new(|_| {}));
    install_seccomp_filter()?;
    Ok(())
}

fn probe_standard_input(media_type: MediaType) -> io::Result<()> {
    let mut output = io::stdout();
    write!(output, "{READY_LINE}")?;
    output.flush()?;
    let found = probe::read(media_type, io::stdin().lock());
    writeln!(output, "{}", encode_result(found))?;
    output.flush()
}
