//! Every reader of contents: routes of the API, pages and downloads of the dashboard.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::chaos::markers::dashboard_session::DashboardSession;
use crate::chaos::markers::marked_work::MarkedRecords;
use crate::chaos::markers::marker::Markers;
use crate::chaos::markers::text_search::TextSearch;
use crate::harness::environment::trial_environment::TrialEnvironment;
use crate::harness::failure::{FailureContext as _, Result, TrialFailure};
use crate::harness::http::http_client::HttpResponse;
use crate::harness::http::service_client::ServiceClient;
use crate::harness::http::{load_request, string_field};
use crate::harness::longshored::org_setup;
use crate::harness::verdict::TrialVerdict;

/// How many cargo of the beginning are read one by one. Lists and results have the others too.
const READ_CARGO: usize = 2;

/// With encryption at rest, the labels on its page are codes.
const FAILED_CARGO_PAGE: &str = "failed cargo page";

/// The name of a reader, and a path.
type ReaderPath = (&'static str, String);

#[derive(Debug)]
pub(super) struct MarkerReaders<'a> {
    pub environment: &'a TrialEnvironment,
    pub session: &'a DashboardSession,
    pub records: &'a MarkedRecords,
    pub search: &'a TextSearch,
}

/// What the readers answered.
#[derive(Debug, Default)]
pub(super) struct ReaderFindings {
    answers: usize,
    successes: usize,
    /// The kinds of content that each reader showed.
    kinds: BTreeMap<&'static str, BTreeSet<&'static str>>,
    /// Answers of the statuses 5xx.
    failures: Vec<String>,
}

impl MarkerReaders<'_> {
    pub(super) async fn read_all(&self) -> Result<ReaderFindings> {
        let mut found = ReaderFindings::default();
        let organization = self.environment.first_organization()?;
        let client = ServiceClient::new(self.environment.server()?.address());
        for (reader, path) in self.list_routes() {
            let request = load_request::get(&path, organization);
            let answer = client.send_repeatedly(request).await.context(&path)?;
            found.add(reader, &path, &answer, self.search);
        }
        let project = find_project(self.environment).await?;
        let slug = string_field(&project, "slug")?;
        for (reader, path) in self.list_pages(&slug) {
            let answer = self.session.get(&path).await?;
            found.add(reader, &path, &answer, self.search);
        }
        Ok(found)
    }

    fn list_routes(&self) -> Vec<ReaderPath> {
        let (group, file) = (&self.records.group, &self.records.file);
        let mut routes = vec![
            ("cargo list", "/cargo?limit=200".to_owned()),
            ("groups", "/groups".to_owned()),
            ("group", format!("/groups/{group}")),
            (
                "group results",
                format!("/groups/{group}/results?include=params"),
            ),
            ("files", "/files".to_owned()),
            ("file", format!("/files/{file}")),
        ];
        for cargo in self.sample_cargo() {
            routes.push(("tracking", load_request::tracking_path(cargo)));
            routes.push(("attempts", format!("/cargo/crg_{cargo:032x}/attempts")));
        }
        routes
    }

    fn list_pages(&self, slug: &str) -> Vec<ReaderPath> {
        let (group, file) = (&self.records.group, &self.records.file);
        let project = format!("/dashboard/project/{slug}");
        let mut pages = vec![
            (FAILED_CARGO_PAGE, format!("{project}/cargo?status=failed")),
            ("group page", format!("{project}/groups/{group}")),
            (
                "group download",
                format!("{project}/groups/{group}/results.jsonl"),
            ),
            ("files page", format!("{project}/files")),
            ("file page", format!("{project}/files/{file}")),
        ];
        for cargo in self.sample_cargo() {
            let page = format!("{project}/cargo/crg_{cargo:032x}");
            pages.push(("input download", format!("{page}/input.json")));
            pages.push(("output download", format!("{page}/output.json")));
            pages.push(("cargo page", page));
        }
        pages
    }

    /// The first ones and the rejected one.
    fn sample_cargo(&self) -> impl Iterator<Item = u128> {
        let cargo = &self.records.cargo;
        cargo.iter().take(READ_CARGO).chain(cargo.last()).copied()
    }
}

impl ReaderFindings {
    fn add(
        &mut self,
        reader: &'static str,
        path: &str,
        answer: &HttpResponse,
        search: &TextSearch,
    ) {
        self.answers += 1;
        self.successes += usize::from(answer.is_success());
        if answer.status >= 500 {
            self.failures.push(format!("{path}: {}", answer.status));
        }
        let kinds = self.kinds.entry(reader).or_default();
        search.search(&answer.body, &mut |kind, _| {
            kinds.insert(kind);
        });
    }

    /// Before contents are removed: every reader shows some, and every kind is shown.
    pub(super) fn judge_before(&self, verdict: &mut TrialVerdict, markers: &Markers) {
        verdict.record("shown_before", json!(self.kinds));
        for (reader, kinds) in &self.kinds {
            let what = format!("before: contents are in the answer of the reader `{reader}`");
            verdict.check(what, !kinds.is_empty() || *reader == FAILED_CARGO_PAGE);
        }
        for (kind, _) in markers.list() {
            let what = format!("before: a reader shows the {kind}");
            verdict.check(what, self.shows(kind));
        }
    }

    /// Afterwards: no reader shows any kind, except those in `kept`, which some reader still shows.
    pub(super) fn judge_after(&self, verdict: &mut TrialVerdict, kept: &[&'static str]) {
        verdict
            .record("answers_after", self.answers)
            .record("successes_after", self.successes);
        let shown = self.kinds.iter().flat_map(|(reader, kinds)| {
            let kinds = kinds.iter().filter(|kind| !kept.contains(kind));
            kinds.map(move |kind| format!("{kind} by the reader `{reader}`"))
        });
        let shown: Vec<String> = shown.collect();
        verdict
            .check_none("no reader shows a marker", "shown_after", &shown)
            .check_none("every reader answers", "failed_readers", &self.failures);
        for kind in kept {
            let what = format!("a reader still shows the {kind}");
            verdict.check(what, self.shows(kind));
        }
    }

    fn shows(&self, kind: &str) -> bool {
        self.kinds.values().any(|kinds| kinds.contains(kind))
    }
}

/// The only project of the first organization.
pub(super) async fn find_project(environment: &TrialEnvironment) -> Result<Value> {
    let organization = &environment.first_organization()?.id;
    let verb = ["project", "list", "--organization", organization];
    let projects = org_setup::run_admin_command(&environment.longshored, &verb).await?;
    let project = projects.get(0).cloned();
    project.ok_or_else(|| TrialFailure::new("an organization has no project"))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use hyper::HeaderMap;

    use super::*;

    fn judge_answers(answers: &[(u16, &'static [u8])]) -> bool {
        let (mut found, mut verdict) = (ReaderFindings::default(), TrialVerdict::new("readers"));
        let search = TextSearch::new(&[("prompt", "marker-prompt"), ("file name", "marker-file")]);
        for (status, body) in answers {
            let answer = HttpResponse {
                status: *status,
                headers: HeaderMap::new(),
                body: Bytes::from_static(body),
            };
            found.add("tracking", "/tracking", &answer, &search);
        }
        found.judge_after(&mut verdict, &["file name"]);
        verdict.is_ok()
    }

    #[test]
    fn only_what_is_kept_may_be_shown_and_it_must_be() {
        let kept: (u16, &[u8]) = (200, b"..marker-file..");
        assert!(judge_answers(&[kept, (404, b"")]));
        assert!(!judge_answers(&[kept, (200, b"..marker-prompt..")]));
        assert!(!judge_answers(&[kept, (500, b"")]));
        assert!(!judge_answers(&[(200, b"")]));
    }
}
