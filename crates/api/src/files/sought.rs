//! The file that a path names: what is no id of the caller's berth is not found without a look.

use axum::extract::{FromRequestParts, Path};
use domain::id::FileId;
use http::request::Parts;
use store::shard::file::{self, File};

use crate::caller::Caller;
use crate::harbour::refuse;
use crate::problem::FileProblem;
use crate::state::{App, Quay};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Sought {
    pub(crate) caller: Caller,
    pub(crate) id: FileId,
}

impl FromRequestParts<App> for Sought {
    type Rejection = FileProblem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, FileProblem> {
        let caller = Caller::from_request_parts(parts, app).await;
        let caller = caller.map_err(FileProblem::of_the_key)?;
        let named = Path::<String>::from_request_parts(parts, app).await;
        let id = named
            .ok()
            .and_then(|Path(named)| named.parse::<FileId>().ok());
        let id = id.filter(|id| id.berth() == caller.berth);
        let id = id.ok_or_else(refuse::not_found)?;
        Ok(Self { caller, id })
    }
}

impl Sought {
    pub(crate) fn quay<'a>(&self, app: &'a App) -> Result<&'a Quay, FileProblem> {
        Ok(app.quay(self.caller.berth)?)
    }

    pub(crate) async fn find(&self, quay: &Quay) -> Result<File, FileProblem> {
        let found = file::find(&quay.shard, self.caller.project, self.id).await?;
        found.ok_or_else(refuse::not_found)
    }
}
