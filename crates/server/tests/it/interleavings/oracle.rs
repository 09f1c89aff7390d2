//! The invariants at the end of a seed.

use std::collections::HashMap;

use domain::id::CargoId;
use store::shard::ledger_audit;

use super::fake_provider::FakeProviderAccount;
use super::guard_triggers;
use super::recording_receiver::ReceivedCallback;
use super::scheduler::Scheduler;

/// Each query returns one row for each violation.
const VIOLATION_QUERIES: [&str; 6] = [
    "select format('cargo %s has no outcome, or a failure', c.id)
     from shard.cargo c left join shard.outcome o on o.cargo = c.id
     where c.organization = any(ORGANIZATIONS) and o.success is not true
         and (coalesce(o.failure_code, '') <> 'cancelled' or c.cancel_requested_at is null)",
    "select format('a claim on %s names node %s epoch %s, which is not alive', kind, x.node, x.epoch)
     from (select 'a lane' as kind, node, epoch from shard.lane
           union all select 'a batch', node, epoch from shard.batch
           union all select 'a delivery', node, epoch from shard.delivery) x
     where x.node is not null and not exists (select from shard.node n
         where n.node = x.node and n.epoch = x.epoch and n.dead_at is null)",
    "select format('organization %s still holds %s and reserves %s', organization, held, tokens_reserved)
     from shard.account where organization = any(ORGANIZATIONS) and (held <> 0 or tokens_reserved <> 0)",
    "select format('%s of %s is idle in a transaction after: %s', application_name, pid, query)
     from pg_stat_activity
     where datname = current_database() and state like 'idle in transaction%'",
    "select format('%s attempts of project %s are counted and %s are logged', counted, project, logged)
     from (select c.project, count(a.cargo) as logged,
               (select coalesce(sum(n.count), 0) from (
                    select h.count from shard.callback_hour h where h.project = c.project
                    union all
                    select e.count from shard.callback_delta d,
                        unnest(d.project, d.count) as e (project, count) where e.project = c.project
                ) n) as counted
           from shard.cargo c left join shard.attempt a on a.cargo = c.id
           where c.organization = any(ORGANIZATIONS) group by c.project) s
     where counted <> logged",
    "select format('cargo %s was charged %s times', settled.id, count(*))
     from shard.posting p, unnest(p.cargo) as settled (id)
     where p.organization = any(ORGANIZATIONS) group by settled.id having count(*) > 1",
];

impl Scheduler<'_> {
    /// Lists every violation of an invariant.
    pub(super) async fn find_violations(&self, account: &FakeProviderAccount) -> Vec<String> {
        let shard = &self.fixture.database.shard;
        let mut violations = self
            .fixture
            .query_column::<String>(guard_triggers::SELECT_VIOLATIONS)
            .await;
        for query in VIOLATION_QUERIES {
            let query = query.replace("ORGANIZATIONS", &self.organizations_sql());
            violations.extend(self.fixture.query_column::<String>(&query).await);
        }
        let report = ledger_audit::check_all(shard).await.unwrap();
        violations.extend(report.faults.iter().map(ToString::to_string));
        violations.extend(self.find_lost_jobs(account).await);
        violations.extend(self.find_sent_after_cancel(account));
        violations.extend(self.check_callbacks().await);
        if self.plan.is_calm() {
            violations.extend(self.log.failed_steps());
        }
        violations
    }

    /// Lists jobs that no batch has and that no node asked to cancel. A job is excused if it was
    /// not listed during the search and its creator never received an answer.
    async fn find_lost_jobs(&self, account: &FakeProviderAccount) -> Vec<String> {
        let known = "select job from shard.batch where job is not null";
        let known: Vec<String> = self.fixture.query_column(known).await;
        let jobs = account.lock();
        let lost = jobs.iter().filter(|job| {
            let is_excused = job.was_hidden && !job.was_answered;
            !known.contains(&job.id) && !job.was_cancel_requested && !is_excused
        });
        let lost = lost.map(|job| format!("{} runs, and no batch has it", job.id));
        lost.collect()
    }

    /// A callback is acknowledged at least once, and repeated only after a fault.
    async fn check_callbacks(&self) -> Vec<String> {
        let posts = self.receiver.lock().clone();
        let attempts = self.count_attempts().await;
        let mut violations = Vec::new();
        for cargo in self.customers.iter().flat_map(|it| &it.cargo) {
            let made: Vec<&ReceivedCallback> =
                posts.iter().filter(|it| it.cargo == *cargo).collect();
            if !made.iter().any(|it| it.is_acknowledged) {
                violations.push(format!("the callback of {cargo} was never acknowledged"));
            }
            let recorded = attempts.get(cargo).copied().unwrap_or_default();
            let unrecorded = made.len().saturating_sub(recorded);
            let faulty = made
                .iter()
                .filter(|it| self.log.had_fault_since(it.node, it.turn));
            if unrecorded > faulty.count() {
                let (all, recorded) = (made.len(), recorded);
                violations.push(format!("the callback of {cargo} was made {all} times, recorded {recorded} times, without a fault"));
            }
        }
        violations
    }

    async fn count_attempts(&self) -> HashMap<CargoId, usize> {
        let attempts = format!(
            "select a.cargo from shard.attempt a join shard.cargo c on c.id = a.cargo
             where c.organization = any({})",
            self.organizations_sql()
        );
        let mut counts = HashMap::new();
        for cargo in self.fixture.query_column(&attempts).await {
            *counts.entry(CargoId::from_uuid(cargo)).or_default() += 1;
        }
        counts
    }
}
