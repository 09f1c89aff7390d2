//! The accounts at providers: are we let in, do they have our models, are they paused?

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use domain::model::Catalogue;
use domain::time::{Timestamp, to_wire};
use outbound::provider::call::{CallFailure, Patience};
use outbound::provider::jobs::{Label, Sought};
use store::Shard;
use store::shard::provider::{self, Standing};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::catalogue::Shelf;
use crate::doctor::Findings;
use crate::failure;
use crate::providers::credential::Credentials;
use crate::providers::{Account, Accounts, Adapter};
use crate::settings::{self, Settings};

/// How long one account may take to answer; all are asked together.
const PATIENCE: Duration = Duration::from_secs(10);

/// `shards` are those that can be asked.
pub(super) async fn examine(
    settings: &Settings,
    shards: &[Arc<Shard>],
    now: Timestamp,
) -> Vec<Findings> {
    let accounts = match Accounts::of(settings, Credentials::Read(&settings::credential)) {
        Ok(accounts) => accounts,
        Err(wrong) => {
            let mut found = Findings::of("providers");
            let mend = "correct the file SVC_PROVIDERS_FILE; docs/providers.md explains it";
            found.wrong("configured", &wrong.to_string(), mend);
            return vec![found];
        }
    };
    let models = settings.values.models_file.clone();
    // What is wrong with the catalogue is told of this machine.
    let shelf = Shelf::open(models, accounts.clone()).ok();
    let catalogue = shelf.map(|shelf| shelf.watch().borrow().clone());
    let mut asked = JoinSet::new();
    for account in accounts.iter().cloned() {
        asked.spawn(async move { (account.name.clone(), ask(&account, now).await) });
    }
    let answers = asked.join_all().await;
    let standings = standings(shards).await;
    let mut all = Vec::new();
    for account in accounts.iter() {
        let mut found = Findings::of(&format!("provider {}", account.name));
        credential(&mut found, account);
        let mut own = answers.iter().filter(|(name, _)| *name == account.name);
        if let Some((_, answer)) = own.next() {
            judge(&mut found, account, answer, catalogue.as_deref());
        }
        paused(&mut found, account, &standings);
        all.push(found);
    }
    all
}

fn credential(found: &mut Findings, account: &Account) {
    let text = match &account.source {
        Some(source) => format!("there, from the {source}"),
        None => "none, and none is needed".to_owned(),
    };
    found.ok("credential", &text);
}

/// What a server calls its models, where it tells.
type Models = Option<BTreeSet<String>>;

/// A question that costs nothing and that only who is let in is answered.
async fn ask(account: &Account, now: Timestamp) -> Result<Models, CallFailure> {
    let away = |why: String| CallFailure::Unavailable {
        why,
        retry_after: None,
    };
    let patience = Patience {
        call: PATIENCE,
        ..Patience::default()
    };
    let adapter = account.adapter(patience);
    let adapter = adapter.map_err(|failure| away(failure::chain(&failure)))?;
    let asked = async {
        match adapter {
            Adapter::Server(server)
            | Adapter::Jobs {
                realtime: Some(server),
                ..
            } => server.models().await.map(Some),
            // Of what was created after this moment there is at most a page.
            Adapter::Jobs { jobs, .. } => {
                let sought = Sought {
                    label: Label("doctor".to_owned()),
                    upload: None,
                    items: 0,
                    since: now,
                };
                jobs.find(&sought).await.map(|_| None)
            }
        }
    };
    let answer = timeout(PATIENCE, asked).await;
    answer.unwrap_or_else(|_| Err(away("no answer in time".to_owned())))
}

fn judge(
    found: &mut Findings,
    account: &Account,
    answer: &Result<Models, CallFailure>,
    catalogue: Option<&Catalogue>,
) {
    let check = "reachable";
    match answer {
        Ok(models) => {
            found.ok(check, &format!("{} answers and lets us in", account.base));
            if let (Some(models), Some(catalogue)) = (models, catalogue) {
                offered(found, account, models, catalogue);
            }
        }
        Err(failure) => {
            let text = format!("{}: {failure}", account.base);
            found.wrong(check, &text, &mend(account, failure));
        }
    }
}

fn mend(account: &Account, failure: &CallFailure) -> String {
    match failure {
        CallFailure::Unauthorized => match &account.source {
            Some(source) => {
                format!("put a credential that is good into the {source}, restart longshored work")
            }
            None => "it wants a credential: give it credential_env or credential_file".to_owned(),
        },
        CallFailure::OutOfFunds => {
            let name = &account.name;
            format!("pay the provider, then: longshored admin provider resume {name}")
        }
        CallFailure::NotFound | CallFailure::Unreadable | CallFailure::Refused { .. } => {
            "correct base_url and kind in SVC_PROVIDERS_FILE".to_owned()
        }
        CallFailure::Busy { .. }
        | CallFailure::Unavailable { .. }
        | CallFailure::Unknown(_)
        | CallFailure::Conflict
        | CallFailure::TooLarge
        | CallFailure::Spool(_) => "look whether it is up, and at the network between here and \
             there; until then its cargo waits, or takes another route"
            .to_owned(),
    }
}

/// A model that is not there fails every cargo of its route.
fn offered(
    found: &mut Findings,
    account: &Account,
    models: &BTreeSet<String>,
    catalogue: &Catalogue,
) {
    let routes = catalogue.models().flat_map(|model| model.routes.iter());
    let wanted: BTreeSet<&str> = routes
        .filter(|route| route.provider == account.name)
        .map(|route| route.upstream.as_str())
        .collect();
    let missing: Vec<_> = wanted
        .iter()
        .filter(|name| !models.contains(**name))
        .copied()
        .collect();
    if missing.is_empty() {
        let text = format!("all {} that the catalogue names are there", wanted.len());
        return found.ok("models", &text);
    }
    let text = format!("it does not list {}", missing.join(", "));
    let mend = "correct upstream in SVC_MODELS_FILE, or load the model there";
    found.warning("models", &text, mend);
}

/// What each shard said; nothing of one that did not answer.
type Standings = Vec<(String, Option<Vec<Standing>>)>;

async fn standings(shards: &[Arc<Shard>]) -> Standings {
    let mut all = Vec::new();
    for shard in shards {
        let told = timeout(PATIENCE, provider::list(shard)).await;
        all.push((shard.name.to_string(), told.ok().and_then(Result::ok)));
    }
    all
}

fn paused(found: &mut Findings, account: &Account, standings: &Standings) {
    let check = "paused";
    let name = &account.name;
    let before = found.list.len();
    for (shard, told) in standings {
        let Some(told) = told else {
            if account.shares.contains_key(shard) {
                let text = format!("not known on shard {shard}, which did not answer");
                found.warning(check, &text, "mend the shard first");
            }
            continue;
        };
        let own = told.iter().find(|it| it.name == *name);
        if let Some((standing, since)) = own.and_then(|it| Some((it, it.paused_at?))) {
            let why = standing.reason.as_deref().unwrap_or("no reason was noted");
            let text = format!("on shard {shard} since {}: {why}", to_wire(since));
            let mend = format!("mend that, then: longshored admin provider resume {name}");
            found.warning(check, &text, &mend);
        }
    }
    if found.list.len() == before {
        found.ok(check, "no");
    }
}

#[cfg(test)]
mod tests;
