//! One transaction: lock the accounts, then the files that are named, let the domain
//! decide, write, commit.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::{Duration, Instant};

use domain::account::Account;
use domain::admission::LoadRefusal;
use domain::file::Referenced;
use domain::id::{CargoId, FileId, OrganizationId, ProjectId};
use domain::idempotency;
use domain::time::Timestamp;
use rand::RngExt as _;
use store::shard::account::{self, Locked};
use store::shard::file::reference;
use store::shard::load::{self, Earlier, NewCargo};
use store::shard::partition;
use store::{Error, Shard, Transaction};

use crate::writer::{Answer, Loading, NotStored, Stored};

/// How long the writer asks what became of a commit that was not answered.
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(10);
/// Between two of those questions.
const RESOLVE_PAUSE: Duration = Duration::from_millis(50);

pub(super) enum Outcome {
    /// One answer per load; none where the account is held by another group.
    Answers(Vec<Option<Answer>>),
    /// The shard cannot be reached: nothing is known to be stored.
    Away,
    /// The database refused the group; one of its loads is to blame.
    Refused(String),
}

/// What a group came to before its commit.
struct Written {
    answers: Vec<Option<Answer>>,
    /// One of the cargo that were admitted; none when nothing was written.
    cargo: Option<CargoId>,
    /// Whose accounts the transaction holds.
    organizations: Vec<OrganizationId>,
}

/// How a group is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Way {
    /// What another group holds is passed over instead of waited for.
    pub(super) passes_over: bool,
    /// The database is slow or far away: statements may take long to arrive there.
    pub(super) takes_long: bool,
}

pub(super) async fn write(shard: &Shard, loads: &[&Loading], way: Way) -> Outcome {
    let mut prepared = prepare(shard, loads, way).await;
    if let Err(error) = &prepared
        && error.is_missing_day()
        && made_missing_day(shard).await
    {
        prepared = prepare(shard, loads, way).await;
    }
    let (tx, written) = match prepared {
        Ok(prepared) => prepared,
        Err(error) if error.is_away() => {
            let (loads, failure) = (loads.len(), in_words(&error));
            tracing::warn!(shard = %shard.name, loads, failure, "a group of {loads} loads is not stored: their callers get 503");
            return Outcome::Away;
        }
        Err(error) => return Outcome::Refused(in_words(&error)),
    };
    if tx.commit().await.is_ok() || resolve(shard, &written).await {
        return Outcome::Answers(written.answers);
    }
    Outcome::Away
}

/// Sweep makes days long before they are needed. If it could not, the writer makes today's, so
/// that the group can be repeated.
async fn made_missing_day(shard: &Shard) -> bool {
    let made = partition::make_missing(shard, shard.clock.now()).await;
    match &made {
        Ok(()) => {
            tracing::error!(shard = %shard.name, "Today's partitions were missing and have been made. Sweep should make them 30 days ahead: see the log of longshored work");
        }
        Err(failure) => {
            tracing::error!(shard = %shard.name, failure = %in_words(failure), "Today's partitions are missing and could not be made: loads fail");
        }
    }
    made.is_ok()
}

async fn prepare(
    shard: &Shard,
    loads: &[&Loading],
    way: Way,
) -> Result<(Transaction, Written), Error> {
    let mut tx = shard.writers.begin().await?;
    if way.takes_long {
        load::allow_slow_arrival(&mut tx).await?;
    }
    let mut organizations: Vec<_> = loads.iter().map(|load| load.caller.organization).collect();
    organizations.sort_unstable();
    organizations.dedup();
    let locked = if way.passes_over {
        account::lock_free(&mut tx, &organizations).await?
    } else {
        account::lock_waiting(&mut tx, &organizations).await?
    };
    if let Some(told) = locked.told {
        shard.clock.learn(told);
    }
    let now = shard.clock.now();
    let earlier = earlier(&mut tx, loads, now).await?;
    let files = files(&mut tx, loads, &locked).await?;
    let decided = decide(loads, &locked, (&earlier, &files), way.passes_over, now);
    let cargo = decided.admitted.first().map(|row| row.id);
    if !decided.admitted.is_empty() {
        account::write(&mut tx, &decided.accounts).await?;
        load::insert(&mut tx, decided.admitted, now).await?;
    }
    Ok((
        tx,
        Written {
            answers: decided.answers,
            cargo,
            organizations,
        },
    ))
}

/// What the idempotency keys of the group stand for already.
async fn earlier(
    tx: &mut Transaction,
    loads: &[&Loading],
    now: Timestamp,
) -> Result<Vec<Earlier>, Error> {
    let named = loads
        .iter()
        .filter_map(|load| Some((load.caller.project, load.named.as_ref()?)));
    let (projects, keys): (Vec<_>, Vec<_>) = named
        .map(|(project, named)| (project.uuid(), named.key.clone()))
        .unzip();
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    load::earlier(tx, &projects, &keys, now - idempotency::KEPT).await
}

/// Locks the files that the group's loads name, if they name any: they stay as they are found
/// until the commit. The holds were sized before, from what was read without a lock; that is
/// as good, because what a file's bytes are never changes.
async fn files(
    tx: &mut Transaction,
    loads: &[&Loading],
    locked: &Locked,
) -> Result<HashMap<FileId, Referenced>, Error> {
    if loads.iter().all(|load| load.files.is_empty()) {
        return Ok(HashMap::new());
    }
    // Those of another group's accounts are its own.
    let ours: HashSet<_> = locked.accounts.iter().map(|it| it.organization).collect();
    let named: BTreeSet<FileId> = loads
        .iter()
        .filter(|load| ours.contains(&load.caller.organization))
        .flat_map(|load| load.files.iter().copied())
        .collect();
    reference::lock(tx, &named.into_iter().collect::<Vec<_>>()).await
}

/// Whether a load's files are still as they were looked up.
fn still_ready(
    load: &Loading,
    files: &HashMap<FileId, Referenced>,
    now: Timestamp,
) -> Result<(), LoadRefusal> {
    load.files.iter().try_for_each(|id| {
        let file_id = || id.to_string();
        match files.get(id) {
            None => Err(LoadRefusal::FileNotFound { file_id: file_id() }),
            Some(file) if !file.is_ready(now) => {
                Err(LoadRefusal::FileNotReady { file_id: file_id() })
            }
            Some(_) => Ok(()),
        }
    })
}

/// What is to be written, and answered once it is.
struct Decided {
    answers: Vec<Option<Answer>>,
    admitted: Vec<NewCargo>,
    /// Those that have changed.
    accounts: Vec<Account>,
}

/// Load by load, in the order in which they came.
fn decide(
    loads: &[&Loading],
    locked: &Locked,
    (earlier, files): (&[Earlier], &HashMap<FileId, Referenced>),
    pass_over: bool,
    now: Timestamp,
) -> Decided {
    let mut accounts: HashMap<OrganizationId, Account> = locked
        .accounts
        .iter()
        .map(|account| (account.organization, *account))
        .collect();
    let mut named: HashMap<(ProjectId, &str), (CargoId, &[u8])> = earlier
        .iter()
        .map(|it| {
            (
                (it.project, it.key.as_str()),
                (it.cargo, it.digest.as_slice()),
            )
        })
        .collect();
    let mut admitted = Vec::with_capacity(loads.len());
    let mut answers = Vec::with_capacity(loads.len());
    for load in loads {
        let Some(account) = accounts.get_mut(&load.caller.organization) else {
            let missing = "the organization has no account on its shard".to_owned();
            answers.push((!pass_over).then_some(Err(NotStored::Failed(missing))));
            continue;
        };
        let name = load
            .named
            .as_ref()
            .map(|it| (load.caller.project, it.key.as_str()));
        if let (Some(name), Some(asked)) = (name, &load.named)
            && let Some((cargo, digest)) = named.get(&name)
        {
            let same = asked.repeats(digest);
            answers.push(Some(if same {
                Ok(Stored::Replay(*cargo))
            } else {
                Err(NotStored::KeyReused)
            }));
            continue;
        }
        if let Err(refusal) = still_ready(load, files, now) {
            answers.push(Some(Err(NotStored::File(refusal))));
            continue;
        }
        if let Err(refusal) = account.place(&load.hold, load.monthly_tokens, now) {
            answers.push(Some(Err(NotStored::Refused(refusal))));
            continue;
        }
        let id = CargoId::new(now, load.caller.berth, rand::rng().random());
        if let (Some(name), Some(asked)) = (name, &load.named) {
            named.insert(name, (id, &asked.digest));
        }
        answers.push(Some(Ok(Stored::New(id))));
        admitted.push(row(load, id));
    }
    let before = locked.accounts.iter();
    let after = before.filter_map(|before| {
        let after = accounts.get(&before.organization)?;
        (after != before).then_some(*after)
    });
    Decided {
        accounts: after.collect(),
        answers,
        admitted,
    }
}

fn row(load: &Loading, id: CargoId) -> NewCargo {
    let callback = load.callback.as_ref();
    NewCargo {
        id,
        organization: load.caller.organization,
        project: load.caller.project,
        key: load.caller.key,
        lane: load.lane,
        model: load.model.clone(),
        callback: callback.map(|url| (url.as_str().to_owned(), url.host().to_owned())),
        request: load.request.clone(),
        metadata: load.metadata.as_ref().map(|text| text.clone().into_bytes()),
        idempotency: load.named.clone(),
        hold: load.hold,
        files: load.files.clone(),
    }
}

/// Whether a group whose commit was not answered is stored after all. False also when that cannot
/// be learned in time: the callers may repeat their loads.
async fn resolve(shard: &Shard, written: &Written) -> bool {
    let Some(cargo) = written.cargo else {
        return false;
    };
    metrics::counter!("load_unknown_commits_total").increment(1);
    let asked = Instant::now();
    while asked.elapsed() < RESOLVE_TIMEOUT {
        match load::is_stored(shard, &written.organizations, cargo).await {
            Ok(is_stored) => return is_stored,
            Err(_) => tokio::time::sleep(RESOLVE_PAUSE).await,
        }
    }
    tracing::error!(shard = %shard.name, "a commit was not answered, and the shard does not say whether it is stored");
    false
}

fn in_words(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        words.push_str(": ");
        words.push_str(&error.to_string());
        cause = error.source();
    }
    words
}
