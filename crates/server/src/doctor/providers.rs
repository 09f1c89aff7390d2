//! Checks of provider accounts: reachable, credential accepted, models offered, not paused.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use domain::error_chain;
use domain::model::Catalogue;
use domain::time::{Timestamp, to_wire};
use outbound::provider::batch_provider::{JobSearch, SubmissionLabel};
use outbound::provider::client::{ProviderCallFailure, ProviderTimeouts};
use store::Shard;
use store::shard::provider::{self, ProviderStatus};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::catalogue::CatalogueStore;
use crate::doctor::DependencyFindings;
use crate::providers::credential::CredentialAccess;
use crate::providers::{ProviderAccount, ProviderAccounts, ProviderAdapter};
use crate::settings::{self, Settings};

/// How long one account may take to answer; all are checked in parallel.
const PROVIDER_TIMEOUT: Duration = Duration::from_secs(10);

/// `shards` is empty when no database address is valid.
pub(super) async fn examine(
    settings: &Settings,
    shards: &[Arc<Shard>],
    now: Timestamp,
) -> Vec<DependencyFindings> {
    let accounts = match ProviderAccounts::from_settings(
        settings,
        CredentialAccess::Read(&settings::credential_variable),
    ) {
        Ok(accounts) => accounts,
        Err(invalid) => {
            let mut found = DependencyFindings::new("providers");
            let fix = "correct the file SVC_PROVIDERS_FILE; docs/providers.md explains its fields";
            found.wrong("configured", &invalid.to_string(), fix);
            return vec![found];
        }
    };
    let models = settings.values.models_file.clone();
    // Errors in the catalogue are reported by the checks of this machine.
    let store = CatalogueStore::open(models, accounts.clone()).ok();
    let catalogue = store.map(|store| store.watch().borrow().clone());
    let mut queries = JoinSet::new();
    for account in accounts.iter().cloned() {
        queries.spawn(async move { (account.name.clone(), query_account(&account, now).await) });
    }
    let answers = queries.join_all().await;
    let statuses = list_statuses(shards).await;
    let mut all = Vec::new();
    for account in accounts.iter() {
        let mut found = DependencyFindings::new(&format!("provider {}", account.name));
        report_credential(&mut found, account);
        let mut own = answers.iter().filter(|(name, _)| *name == account.name);
        if let Some((_, answer)) = own.next() {
            report_answer(&mut found, account, answer, catalogue.as_deref());
        }
        check_paused(&mut found, account, &statuses);
        all.push(found);
    }
    all
}

fn report_credential(found: &mut DependencyFindings, account: &ProviderAccount) {
    let text = match &account.source {
        Some(source) => format!("read from the {source}"),
        None => "none needed".to_owned(),
    };
    found.ok("credential", &text);
}

/// The models that an account lists, if it lists them by the names that routes use.
type ModelNames = Option<BTreeSet<String>>;

/// Makes a call that costs nothing and needs a valid credential.
async fn query_account(
    account: &ProviderAccount,
    now: Timestamp,
) -> Result<ModelNames, ProviderCallFailure> {
    let unavailable = |why: String| ProviderCallFailure::Unavailable {
        why,
        retry_after: None,
    };
    let patience = ProviderTimeouts {
        call: PROVIDER_TIMEOUT,
        ..ProviderTimeouts::default()
    };
    let adapter = account.adapter(patience);
    let adapter = adapter.map_err(|failure| unavailable(error_chain::chain(&failure)))?;
    let lists_names = account.account_kind().lists_upstream_names();
    let call = async {
        match adapter {
            ProviderAdapter::Batch {
                realtime: Some(server),
                ..
            } if lists_names => server.list_models().await.map(Some),
            ProviderAdapter::Realtime(server) => server.list_models().await.map(Some),
            // The list of jobs created after now has at most one page.
            ProviderAdapter::Batch { batch: jobs, .. } => {
                let search = JobSearch {
                    label: SubmissionLabel("doctor".to_owned()),
                    upload: None,
                    items: 0,
                    since: now,
                };
                jobs.find_jobs(&search).await.map(|_| None)
            }
        }
    };
    let answer = timeout(PROVIDER_TIMEOUT, call).await;
    answer.unwrap_or_else(|_| Err(unavailable("no answer in time".to_owned())))
}

fn report_answer(
    found: &mut DependencyFindings,
    account: &ProviderAccount,
    answer: &Result<ModelNames, ProviderCallFailure>,
    catalogue: Option<&Catalogue>,
) {
    let check = "reachable";
    match answer {
        Ok(models) => {
            found.ok(
                check,
                &format!("{} answers and accepts the credential", account.base_url),
            );
            if let (Some(models), Some(catalogue)) = (models, catalogue) {
                check_models(found, account, models, catalogue);
            }
        }
        Err(failure) => {
            let text = format!("{}: {failure}", account.base_url);
            found.wrong(check, &text, &account_fix(account, failure));
        }
    }
}

fn account_fix(account: &ProviderAccount, failure: &ProviderCallFailure) -> String {
    match failure {
        ProviderCallFailure::Unauthorized => match &account.source {
            Some(source) => {
                format!("put a valid credential into the {source} and restart `longshored work`")
            }
            None => {
                "it needs a credential: set credential_env or credential_file in SVC_PROVIDERS_FILE"
                    .to_owned()
            }
        },
        ProviderCallFailure::OutOfCredit | ProviderCallFailure::UnconfirmedOutOfCredit => {
            let name = &account.name;
            format!("pay the provider, then run `longshored admin provider resume {name}`")
        }
        ProviderCallFailure::NotFound
        | ProviderCallFailure::UnreadableResponse
        | ProviderCallFailure::Refused { .. } => {
            "correct base_url and kind in SVC_PROVIDERS_FILE".to_owned()
        }
        ProviderCallFailure::RateLimited { .. }
        | ProviderCallFailure::NoCapacity { .. }
        | ProviderCallFailure::Unavailable { .. }
        | ProviderCallFailure::Indeterminate(_)
        | ProviderCallFailure::Conflict
        | ProviderCallFailure::TooLarge
        | ProviderCallFailure::Spool(_) => {
            "check that the provider is up and that the network reaches it; \
             until then its cargo waits, or takes another route"
                .to_owned()
        }
    }
}

/// A missing model fails every cargo of its route.
fn check_models(
    found: &mut DependencyFindings,
    account: &ProviderAccount,
    models: &BTreeSet<String>,
    catalogue: &Catalogue,
) {
    let routes = catalogue.models().flat_map(|model| model.routes.iter());
    let wanted: BTreeSet<&str> = routes
        .filter(|route| route.provider == account.name)
        .map(|route| route.upstream_model.as_str())
        .collect();
    let missing: Vec<_> = wanted
        .iter()
        .filter(|name| !models.contains(**name))
        .copied()
        .collect();
    if missing.is_empty() {
        let text = format!("all models of the catalogue are offered: {}", wanted.len());
        return found.ok("models", &text);
    }
    let text = format!("does not list {}", missing.join(", "));
    let fix = "correct upstream in SVC_MODELS_FILE, or load the model on the server";
    found.warning("models", &text, fix);
}

/// The accounts as each shard knows them; none for a shard that did not answer.
type ShardStatuses = Vec<(String, Option<Vec<ProviderStatus>>)>;

async fn list_statuses(shards: &[Arc<Shard>]) -> ShardStatuses {
    let mut all = Vec::new();
    for shard in shards {
        let listed = timeout(PROVIDER_TIMEOUT, provider::list(shard)).await;
        all.push((shard.name.to_string(), listed.ok().and_then(Result::ok)));
    }
    all
}

fn check_paused(
    found: &mut DependencyFindings,
    account: &ProviderAccount,
    statuses: &ShardStatuses,
) {
    let check = "paused";
    let name = &account.name;
    let before = found.list.len();
    for (shard, listed) in statuses {
        let Some(listed) = listed else {
            if account.shares.contains_key(shard) {
                let text = format!("unknown on shard {shard}, which did not answer");
                found.warning(check, &text, "see the errors of that shard");
            }
            continue;
        };
        let own = listed.iter().find(|it| it.name == *name);
        if let Some((status, since)) = own.and_then(|it| Some((it, it.paused_at?))) {
            let why = status.reason.as_deref().unwrap_or("no reason recorded");
            let text = format!("on shard {shard} since {}: {why}", to_wire(since));
            let fix =
                format!("remove the cause, then run `longshored admin provider resume {name}`");
            found.warning(check, &text, &fix);
        }
    }
    if found.list.len() == before {
        found.ok(check, "no");
    }
}

#[cfg(test)]
mod tests;
