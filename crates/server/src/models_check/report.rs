//! The result of `longshored models check`, as a table for people and as JSON for scripts.

use std::fmt::Write as _;

use domain::model::Model;
use domain::route::Route;
use serde::Serialize;

use crate::models_check::comparison::{ModelFinding, ModelFindingKind};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RouteCheck {
    Ok,
    Contradiction,
    /// The provider did not answer.
    Unchecked,
}

impl RouteCheck {
    const fn label(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Contradiction => "CONTRADICTION",
            Self::Unchecked => "not checked",
        }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct CheckedRoute {
    model: String,
    provider: String,
    via: &'static str,
    upstream: String,
    result: RouteCheck,
    findings: Vec<ModelFinding>,
    /// Why it was not checked.
    error: Option<String>,
}

impl CheckedRoute {
    pub(super) fn compared(model: &Model, route: &Route, findings: Vec<ModelFinding>) -> Self {
        let mut kinds = findings.iter().map(|finding| finding.kind);
        let result = if kinds.any(|kind| kind == ModelFindingKind::Contradiction) {
            RouteCheck::Contradiction
        } else {
            RouteCheck::Ok
        };
        Self::new(model, route, result, findings, None)
    }

    pub(super) fn unchecked(model: &Model, route: &Route, why: &str) -> Self {
        let error = Some(why.to_owned());
        Self::new(model, route, RouteCheck::Unchecked, Vec::new(), error)
    }

    fn new(
        model: &Model,
        route: &Route,
        result: RouteCheck,
        findings: Vec<ModelFinding>,
        error: Option<String>,
    ) -> Self {
        Self {
            model: model.id.clone(),
            provider: route.provider.clone(),
            via: route.via.as_str(),
            upstream: route.upstream_model.clone(),
            result,
            findings,
            error,
        }
    }

    const fn cells(&self) -> [&str; 5] {
        [
            self.model.as_str(),
            self.provider.as_str(),
            self.via,
            self.upstream.as_str(),
            self.result.label(),
        ]
    }
}

#[derive(Debug, Serialize)]
pub struct ModelsReport {
    /// Every provider answered, and nothing contradicts the catalogue. There may be notes.
    pub ok: bool,
    routes: Vec<CheckedRoute>,
}

impl ModelsReport {
    pub(super) fn new(routes: Vec<CheckedRoute>) -> Self {
        let ok = routes.iter().all(|route| route.result == RouteCheck::Ok);
        Self { ok, routes }
    }

    fn count(&self, result: RouteCheck) -> usize {
        let routes = self.routes.iter();
        routes.filter(|route| route.result == result).count()
    }
}

const HEADINGS: [&str; 5] = ["MODEL", "PROVIDER", "VIA", "UPSTREAM", "RESULT"];

/// For people: a line per route, its findings below it, and the summary last.
pub fn render_text(report: &ModelsReport) -> String {
    if report.routes.is_empty() {
        return "no route of the catalogue leads to a provider; nothing to check".to_owned();
    }
    let mut widths = HEADINGS.map(str::len);
    for route in &report.routes {
        for (width, cell) in widths.iter_mut().zip(route.cells()) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut page = String::new();
    write_row(&mut page, widths, HEADINGS);
    for route in &report.routes {
        write_row(&mut page, widths, route.cells());
        // Writing to a string cannot fail.
        if let Some(error) = &route.error {
            let _written = writeln!(page, "    {error}");
        }
        for finding in &route.findings {
            let kind = match finding.kind {
                ModelFindingKind::Contradiction => "",
                ModelFindingKind::Note => "note: ",
            };
            let _written = writeln!(page, "    {kind}{}: {}", finding.field, finding.message);
        }
    }
    let contradictions = report.count(RouteCheck::Contradiction);
    let unchecked = report.count(RouteCheck::Unchecked);
    let _written = write!(
        page,
        "\nroutes: {}; with a contradiction: {contradictions}; not checked: {unchecked}",
        report.routes.len()
    );
    page
}

fn write_row(page: &mut String, widths: [usize; 5], cells: [&str; 5]) {
    let mut line = String::new();
    for (width, cell) in widths.into_iter().zip(cells) {
        let _written = write!(line, "{cell:<width$}  ");
    }
    let _written = writeln!(page, "{}", line.trim_end());
}
