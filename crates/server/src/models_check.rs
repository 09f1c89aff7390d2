//! `longshored models check`: asks providers about the models of the catalogue, and compares.

mod comparison;
mod report;
mod upstream;

use domain::model::Catalogue;

use crate::catalogue::{CatalogueFailure, CatalogueStore};
use crate::models_check::comparison::compare;
use crate::models_check::report::CheckedRoute;
pub use crate::models_check::report::{ModelsReport, render_text};
use crate::models_check::upstream::UpstreamAnswers;
use crate::providers::credential::CredentialAccess;
use crate::providers::{MOCK, ProviderAccounts, ProvidersFailure};
use crate::settings::{self, Settings};

#[derive(Debug, thiserror::Error)]
pub enum ModelsFailure {
    #[error(transparent)]
    Providers(#[from] ProvidersFailure),
    #[error(transparent)]
    Catalogue(#[from] CatalogueFailure),
}

/// Asks every provider account that a route names. It costs nothing at providers; a self-hosted
/// server gets two small requests for each of its chat models.
pub async fn check(settings: &Settings) -> Result<ModelsReport, ModelsFailure> {
    let access = CredentialAccess::Read(&settings::credential_variable);
    let accounts = ProviderAccounts::from_settings(settings, access)?;
    let store = CatalogueStore::open(settings.values.models_file.clone(), accounts)?;
    let catalogue = store.watch().borrow().clone();
    let answers = upstream::ask_all(&catalogue, store.accounts()).await;
    Ok(build_report(&catalogue, &answers))
}

fn build_report(catalogue: &Catalogue, answers: &UpstreamAnswers) -> ModelsReport {
    let mut routes = Vec::new();
    for model in catalogue.models() {
        for route in model.routes.iter().filter(|it| it.provider != MOCK) {
            let key = (route.provider.clone(), route.upstream_model.clone());
            let checked = match answers.get(&key) {
                Some(Ok(facts)) => {
                    CheckedRoute::compared(model, route, compare(model, route, facts))
                }
                Some(Err(why)) => CheckedRoute::unchecked(model, route, why),
                None => CheckedRoute::unchecked(model, route, "its account was not asked"),
            };
            routes.push(checked);
        }
    }
    ModelsReport::new(routes)
}

#[cfg(test)]
mod tests;
