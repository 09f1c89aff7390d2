//! A file as its page shows it: what was read from its bytes, and how far it has come.

use domain::file::Structure;
use domain::id::{FileId, ProjectId};
use domain::time::Timestamp;

use crate::Error;
use crate::Shard;

#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// What was read from its bytes, while they are there.
    pub structure: Option<Structure>,
    /// When its caller said that all bytes are there.
    pub completed_at: Option<Timestamp>,
    /// When it is looked at next, while nobody does.
    pub due_at: Option<Timestamp>,
    /// Whether a worker looks at it now.
    pub is_claimed: bool,
    /// How often the scanner was asked and did not answer.
    pub tries: i32,
    /// How many files share its bytes, this one included.
    pub sharing: i32,
}

pub async fn progress(
    shard: &Shard,
    project: ProjectId,
    file: FileId,
) -> Result<Option<Progress>, Error> {
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
        let image = size.map(|(width, height)| Structure::Image { width, height });
        let pages = || number(row.pages).map(Structure::Pages);
        let milliseconds = row.milliseconds.and_then(|long| u64::try_from(long).ok());
        let video = || milliseconds.map(|milliseconds| Structure::Video { milliseconds });
        let structure = image.or_else(pages).or_else(video);
        Progress {
            structure: structure.or_else(|| row.sharing.map(|_| Structure::Text)),
            completed_at: row.completed_at,
            due_at: row.due_at,
            is_claimed: row.is_claimed,
            tries: row.tries,
            sharing: row.sharing.unwrap_or_default(),
        }
    }))
}
