//! `longshore upload PATH…`: files for requests.

use std::path::PathBuf;

use clap::Args;
use client::files::guess_media_type;

use crate::cli_error::CliResult;
use crate::commands::load::unknown_media_type;
use crate::exit_status::ExitStatus;
use crate::json_fields::text_at;
use crate::session::Session;

#[derive(Debug, Clone, Args)]
pub struct UploadOptions {
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// By default it follows from the ending of the name.
    #[arg(long, value_name = "TYPE")]
    pub media_type: Option<String>,
}

pub async fn run(session: &Session, options: &UploadOptions) -> CliResult<ExitStatus> {
    let client = session.client()?;
    let state_folder = session.environment.upload_folder.as_deref();
    for path in &options.paths {
        let media_type = match &options.media_type {
            Some(media_type) => media_type.as_str(),
            None => guess_media_type(path).ok_or_else(|| unknown_media_type(path))?,
        };
        let record = client.upload(path, media_type, state_folder).await?;
        session.printer.result(&record, |record| {
            let (id, status) = (text_at(record, "/id"), text_at(record, "/status"));
            format!("{id}  {status}  {}", path.display())
        })?;
    }
    Ok(ExitStatus::Done)
}
