//! Reads the results of a group page by page, and writes them as lines.

use std::sync::Arc;

use domain::id::{GroupId, ProjectId};
use store::Shard;
use store::shard::group::{self, GroupResultQuery, GroupResultRow};

use crate::api_error::ApiError;
use crate::groups::query::{GroupResultsQuery, ResultOrder};
use crate::groups::results::line;

/// Rows of a page. The store reads fewer if they are large.
const MAX_PAGE_ROWS: u32 = 500;

#[derive(Debug)]
pub(super) struct ResultReader {
    shard: Arc<Shard>,
    project: ProjectId,
    group: GroupId,
    /// `after` is the position or number of the last row that was read.
    query: GroupResultsQuery,
}

impl ResultReader {
    pub(super) const fn new(
        shard: Arc<Shard>,
        project: ProjectId,
        group: GroupId,
        query: GroupResultsQuery,
    ) -> Self {
        Self {
            shard,
            project,
            group,
            query,
        }
    }

    /// Whether the group is completed: then it gets no further results.
    pub(super) async fn is_group_completed(&self) -> Result<bool, ApiError> {
        let found = group::find(&self.shard, self.project, self.group).await?;
        Ok(found.is_none_or(|group| group.times.completed_at.is_some()))
    }

    /// The lines of the next page that has some. None: there are no further results now.
    pub(super) async fn next_lines(&mut self) -> Result<Option<Vec<u8>>, ApiError> {
        loop {
            let rows = self.read_rows().await?;
            let last = rows.last().and_then(|row| self.place_of(row));
            let Some(last) = last else {
                return Ok(None);
            };
            self.query.after = Some(last);
            let lines = self.write_lines(rows)?;
            if !lines.is_empty() {
                return Ok(Some(lines));
            }
        }
    }

    async fn read_rows(&self) -> Result<Vec<GroupResultRow>, ApiError> {
        let page = GroupResultQuery {
            after: self.query.after,
            limit: MAX_PAGE_ROWS,
            with_params: self.query.includes_params,
        };
        let (shard, project, group) = (&self.shard, self.project, self.group);
        let rows = match self.query.order {
            ResultOrder::Position => {
                group::results_by_position(shard, project, group, page).await?
            }
            ResultOrder::Completion => {
                group::results_by_number(shard, project, group, page).await?
            }
        };
        Ok(rows)
    }

    const fn place_of(&self, row: &GroupResultRow) -> Option<u64> {
        match self.query.order {
            ResultOrder::Position => Some(row.position),
            ResultOrder::Completion => row.number,
        }
    }

    fn write_lines(&self, rows: Vec<GroupResultRow>) -> Result<Vec<u8>, ApiError> {
        let mut lines = Vec::new();
        for result in rows.into_iter().filter_map(line::result_line) {
            let is_selected = self.query.success.is_none_or(|it| it == result.success);
            if is_selected {
                let json = serde_json::to_vec(&result).map_err(ApiError::internal)?;
                line::push_line(&json, &mut lines);
            }
        }
        Ok(lines)
    }
}
