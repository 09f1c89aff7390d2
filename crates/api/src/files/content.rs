//! `GET /files/{file_id}/content`: a link to the bytes, for five minutes.

use axum::Json;
use axum::extract::State;
use wire::file::Content;
use wire::moment::Moment;

use crate::files::sought::Sought;
use crate::harbour::refuse;
use crate::problem::FileProblem;
use crate::state::App;

pub(crate) async fn content(
    sought: Sought,
    State(app): State<App>,
) -> Result<Json<Content>, FileProblem> {
    let file = sought.find(sought.quay(&app)?).await?;
    let Some(object) = file.object else {
        let next = "Only a file that is ready can be downloaded.";
        return Err(refuse::state(file.status, next));
    };
    let objects = app.files.store()?;
    let (download_url, expires_at) = objects.download(object, &file.filename, file.media_type);
    Ok(Json(Content {
        id: file.id.to_string(),
        download_url,
        expires_at: Moment(expires_at),
        filename: file.filename,
        media_type: file.media_type.as_str(),
        size_bytes: file.size_bytes,
    }))
}
