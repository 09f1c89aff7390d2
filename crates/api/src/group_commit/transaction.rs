//! The transaction of a group: lock the accounts, then the referenced files, then the groups of
//! cargo; read the rows of capped keys; let the domain decide; write; commit.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::{Duration, Instant};

use domain::account::{Account, AccountRefusal, first_day_of_month};
use domain::admission::LoadRefusal;
use domain::error_chain;
use domain::file::ReferencedFile;
use domain::id::{CargoId, FileId, OrganizationId};
use domain::key_spending::{self, CappedSpending, SpendingCap};
use domain::time::Timestamp;
use rand::RngExt as _;
use store::encryption::WriteKeys;
use store::shard::account::{self, LockedAccounts};
use store::shard::file::reference;
use store::shard::group::member::NewMember;
use store::shard::key_spending::KeySpendings;
use store::shard::load::{self, NewCargo};
use store::shard::partition;
use store::shard::project_keys;
use store::{Error, Shard, Transaction};

use crate::group_commit::idempotency::EarlierLoads;
use crate::group_commit::members::GroupMembers;
use crate::group_commit::write_turn::WriteTurn;
use crate::group_commit::{PreparedLoad, StoreLoadError, StoreLoadResult, StoredLoad};

/// How long the writer tries to find out the result of a commit that was not answered.
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(10);
const RESOLVE_PAUSE: Duration = Duration::from_millis(50);

pub(super) enum GroupWriteResult {
    /// One answer per load; none where another transaction has locked the account.
    Answers(Vec<Option<StoreLoadResult>>),
    /// The shard is unreachable, or did not confirm the commit.
    Unavailable,
    /// The database rejected the group because of one of its loads.
    Rejected(String),
}

/// A group that is ready to be committed.
struct PreparedGroup {
    answers: Vec<Option<StoreLoadResult>>,
    /// One of the admitted cargo; none if nothing was written.
    cargo: Option<CargoId>,
    /// The organizations whose accounts the transaction has locked.
    organizations: Vec<OrganizationId>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct WriteMode {
    /// Loads of a locked account are skipped instead of waiting for the lock.
    pub(super) skips_locked_accounts: bool,
    /// The database is slow or distant, so statements may take long to arrive.
    pub(super) is_slow: bool,
}

pub(super) async fn write(
    shard: &Shard,
    loads: &[&PreparedLoad],
    mode: WriteMode,
    turn: &mut WriteTurn,
) -> GroupWriteResult {
    let mut prepared = turn.hold_while(prepare(shard, loads, mode)).await;
    if let Err(error) = &prepared
        && error.is_missing_partition()
        && create_missing_partitions(shard).await
    {
        prepared = prepare(shard, loads, mode).await;
    }
    turn.end();
    let (tx, written) = match prepared {
        Ok(prepared) => prepared,
        Err(error) if error.is_unavailable() => {
            let (loads, failure) = (loads.len(), error_chain::chain(&error));
            tracing::warn!(shard = %shard.name, loads, failure, "a group of loads was not stored; its callers get 503");
            return GroupWriteResult::Unavailable;
        }
        Err(error) => return GroupWriteResult::Rejected(error.diagnosis()),
    };
    if tx.commit().await.is_ok() || resolve_unknown_commit(shard, &written).await {
        return GroupWriteResult::Answers(written.answers);
    }
    GroupWriteResult::Unavailable
}

/// Sweep creates partitions long before they are needed. If it failed to, the writer creates
/// today's, so that the group can be written again.
async fn create_missing_partitions(shard: &Shard) -> bool {
    let made = partition::make_missing_day(shard, shard.clock.now()).await;
    match &made {
        Ok(()) => {
            tracing::error!(shard = %shard.name, "today's partitions were missing and were created; sweep should create them 30 days ahead, see the log of longshored work");
        }
        Err(failure) => {
            tracing::error!(shard = %shard.name, failure = %error_chain::chain(failure), "today's partitions are missing and could not be created; loads fail");
        }
    }
    made.is_ok()
}

async fn prepare(
    shard: &Shard,
    loads: &[&PreparedLoad],
    mode: WriteMode,
) -> Result<(Transaction, PreparedGroup), Error> {
    let mut tx = shard.writers.begin().await?;
    if mode.is_slow {
        load::allow_slow_arrival(&mut tx).await?;
    }
    let mut organizations: Vec<_> = loads.iter().map(|load| load.caller.organization).collect();
    organizations.sort_unstable();
    organizations.dedup();
    let locked = if mode.skips_locked_accounts {
        account::try_lock(&mut tx, &organizations).await?
    } else {
        account::lock_all(&mut tx, &organizations).await?
    };
    if let Some(server_time) = locked.locked_at {
        shard.clock.synchronize(server_time);
    }
    let now = shard.clock.now();
    // Every load has prepared its key, so the group waits for none.
    let values = loads
        .iter()
        .map(|load| (load.caller.project, load::ENCRYPTED_VALUES));
    let keys = project_keys::prepared_write_keys(shard, values);
    let rows = GroupRows {
        earlier: EarlierLoads::find(&mut tx, loads, now).await?,
        files: lock_files(&mut tx, loads, &locked).await?,
        spendings: read_key_spendings(&mut tx, loads, &locked, now).await?,
        members: GroupMembers::read(&mut tx, loads, &locked, &keys).await?,
        locked,
    };
    let decided = decide(loads, rows, &keys, mode.skips_locked_accounts, now);
    let cargo = decided.admitted.first().map(|row| row.id);
    if !decided.admitted.is_empty() {
        account::write(&mut tx, &decided.accounts).await?;
        decided.spendings.write(&mut tx).await?;
        load::insert(&mut tx, decided.admitted, &keys, now).await?;
    }
    Ok((
        tx,
        PreparedGroup {
            answers: decided.answers,
            cargo,
            organizations,
        },
    ))
}

/// Locks the files that the group's loads reference, so that they do not change before the
/// commit. The holds were computed earlier, from files read without a lock. That is safe,
/// because the bytes of a file never change.
async fn lock_files(
    tx: &mut Transaction,
    loads: &[&PreparedLoad],
    locked: &LockedAccounts,
) -> Result<HashMap<FileId, ReferencedFile>, Error> {
    if loads.iter().all(|load| load.files.is_empty()) {
        return Ok(HashMap::new());
    }
    // Loads whose account is locked by another transaction are not decided here.
    let organizations: HashSet<_> = locked.accounts.iter().map(|it| it.organization).collect();
    let named: BTreeSet<FileId> = loads
        .iter()
        .filter(|load| organizations.contains(&load.caller.organization))
        .flat_map(|load| load.files.iter().copied())
        .collect();
    reference::lock(tx, &named.into_iter().collect::<Vec<_>>()).await
}

/// The month's rows of the keys with a spending cap. A group without such keys runs no statement.
async fn read_key_spendings(
    tx: &mut Transaction,
    loads: &[&PreparedLoad],
    locked: &LockedAccounts,
    now: Timestamp,
) -> Result<KeySpendings, Error> {
    let month = first_day_of_month(now);
    let capped = loads.iter().filter_map(|load| {
        let organization = load.caller.organization;
        Some(((load.counted_cap()?.key, month), organization))
    });
    let is_locked = |organization: OrganizationId| {
        locked
            .accounts
            .iter()
            .any(|it| it.organization == organization)
    };
    let keys = capped.filter(|(_, organization)| is_locked(*organization));
    KeySpendings::read(tx, &keys.collect()).await
}

/// Places the hold of a load on its account and, if its key has a spending cap, on the key's row.
fn place_hold(
    load: &PreparedLoad,
    account: &mut Account,
    spendings: &mut KeySpendings,
    now: Timestamp,
) -> Result<(), AccountRefusal> {
    let capped = load.counted_cap().and_then(|SpendingCap { key, monthly }| {
        let spending = spendings.get_mut(key, first_day_of_month(now))?;
        Some(CappedSpending { spending, monthly })
    });
    key_spending::place_hold(&load.hold, account, capped, load.monthly_tokens, now)
}

/// Whether a load's files are still ready.
fn check_files_ready(
    load: &PreparedLoad,
    files: &HashMap<FileId, ReferencedFile>,
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

/// What the transaction has read for the group.
struct GroupRows {
    locked: LockedAccounts,
    /// The loads that used its idempotency keys before.
    earlier: EarlierLoads,
    files: HashMap<FileId, ReferencedFile>,
    /// The month's rows of capped keys.
    spendings: KeySpendings,
    /// The groups of the loads.
    members: GroupMembers,
}

/// The rows to write, and the answers after the commit.
struct GroupDecision {
    answers: Vec<Option<StoreLoadResult>>,
    admitted: Vec<NewCargo>,
    /// The accounts that changed.
    accounts: Vec<Account>,
    spendings: KeySpendings,
}

/// Decides load by load, in order of arrival.
fn decide(
    loads: &[&PreparedLoad],
    rows: GroupRows,
    keys: &WriteKeys,
    skips_locked: bool,
    now: Timestamp,
) -> GroupDecision {
    let GroupRows {
        locked,
        mut earlier,
        files,
        mut spendings,
        mut members,
    } = rows;
    let mut accounts: HashMap<OrganizationId, Account> = locked
        .accounts
        .iter()
        .map(|account| (account.organization, *account))
        .collect();
    let mut admitted = Vec::with_capacity(loads.len());
    let mut answers = Vec::with_capacity(loads.len());
    for load in loads {
        let Some(account) = accounts.get_mut(&load.caller.organization) else {
            let missing = "the organization has no account on its shard".to_owned();
            answers.push((!skips_locked).then_some(Err(StoreLoadError::Failed(missing))));
            continue;
        };
        let Ok(key) = keys.find(load.caller.project) else {
            answers.push(Some(Err(StoreLoadError::KeyUnavailable)));
            continue;
        };
        let repeated = earlier.answer(load, key);
        if let Some(answer) = repeated.or_else(|| members.answer(load, key)) {
            answers.push(Some(answer));
            continue;
        }
        let id = CargoId::new(now, load.caller.berth, rand::rng().random());
        let member = match members.admit(load, id, key) {
            Ok(member) => member,
            Err(refusal) => {
                answers.push(Some(Err(refusal)));
                continue;
            }
        };
        if let Err(refusal) = check_files_ready(load, &files, now) {
            answers.push(Some(Err(StoreLoadError::File(refusal))));
            continue;
        }
        if let Err(refusal) = place_hold(load, account, &mut spendings, now) {
            answers.push(Some(Err(StoreLoadError::Refused(refusal))));
            continue;
        }
        earlier.add(load, id);
        if let Some(member) = &member {
            members.add(member, id);
        }
        answers.push(Some(Ok(StoredLoad::New(id))));
        admitted.push(cargo_row(load, id, member));
    }
    let before = locked.accounts.iter();
    let after = before.filter_map(|before| {
        let after = accounts.get(&before.organization)?;
        (after != before).then_some(*after)
    });
    GroupDecision {
        accounts: after.collect(),
        spendings,
        answers,
        admitted,
    }
}

fn cargo_row(load: &PreparedLoad, id: CargoId, member: Option<NewMember>) -> NewCargo {
    let callback = load.callback.as_ref();
    let membership = load.membership.as_ref();
    let custom_id = membership.and_then(|it| it.custom_id.as_ref());
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
        idempotency: load.idempotency_key.clone(),
        hold: load.hold,
        spending_key: load.counted_cap().map(|cap| cap.key),
        files: load.files.clone(),
        response_shape: load.response_shape,
        warnings: load.warnings.clone(),
        deadline_at: load.deadline_at,
        route_reason: load.route_reason,
        trace: load.trace,
        custom_id: custom_id.map(|it| it.as_str().to_owned()),
        member,
    }
}

/// Whether a group whose commit was not answered is stored. Also false if the shard does not
/// say so in time. The callers may then repeat their loads.
async fn resolve_unknown_commit(shard: &Shard, written: &PreparedGroup) -> bool {
    let Some(cargo) = written.cargo else {
        return false;
    };
    metrics::counter!("longshore_group_commit_unknown_results_total").increment(1);
    let started = Instant::now();
    while started.elapsed() < RESOLVE_TIMEOUT {
        match load::is_stored(shard, &written.organizations, cargo).await {
            Ok(is_stored) => return is_stored,
            Err(_) => tokio::time::sleep(RESOLVE_PAUSE).await,
        }
    }
    tracing::error!(shard = %shard.name, "a commit was not answered, and the shard did not report whether it is stored");
    false
}
