//! The page of one file: the structure of its contents, and the progress of its scan.

use domain::file::FileStructure;
use domain::id::{FileId, ProjectId};
use domain::time::Timestamp;

use crate::Error;
use crate::Shard;

#[derive(Debug, Clone, Copy)]
pub struct FileProgress {
    /// Read from its bytes; None while they are not stored.
    pub structure: Option<FileStructure>,
    /// When the caller completed the upload.
    pub completed_at: Option<Timestamp>,
    /// When it is scanned next, while no worker has claimed it.
    pub due_at: Option<Timestamp>,
    /// Whether a worker has claimed it.
    pub is_claimed: bool,
    /// How often the scanner gave no verdict.
    pub tries: i32,
    /// How many files share its bytes, this one included.
    pub sharing: i32,
}

pub async fn find_progress(
    shard: &Shard,
    project: ProjectId,
    file: FileId,
) -> Result<Option<FileProgress>, Error> {
    let row = sqlx::query!(
        r#"select f.completed_at, f.due_at, f.node is not null as "is_claimed!", f.tries,
               o.width as "width?", o.height as "height?", o.pages as "pages?",
               o.milliseconds as "milliseconds?", o.files as "sharing?"
           from shard.file f left join shard.object o on o.id = f.object
           where f.id = $1 and f.project = $2"#,
        file.uuid(),
        project.uuid()
    )
    .fetch_optional(&shard.reads)
    .await?;
    Ok(row.map(|row| {
        let number = |value: Option<i32>| value.and_then(|value| u32::try_from(value).ok());
        let size = number(row.width).zip(number(row.height));
        let image = size.map(|(width, height)| FileStructure::Image { width, height });
        let pages = || number(row.pages).map(FileStructure::Pages);
        let milliseconds = row.milliseconds.and_then(|long| u64::try_from(long).ok());
        let video = || milliseconds.map(|milliseconds| FileStructure::Video { milliseconds });
        let structure = image.or_else(pages).or_else(video);
        FileProgress {
            structure: structure.or_else(|| row.sharing.map(|_| FileStructure::Text)),
            completed_at: row.completed_at,
            due_at: row.due_at,
            is_claimed: row.is_claimed,
            tries: row.tries,
            sharing: row.sharing.unwrap_or_default(),
        }
    }))
}
