//! What must be so when a seed has come to its end.

use std::collections::HashMap;

use domain::id::CargoId;
use store::shard::audit;

use super::guards;
use super::provider::Account;
use super::receiver::Post;
use super::scheduler::Scheduler;

/// Each says what is wrong, in a row for each case.
const QUESTIONS: [&str; 6] = [
    "select format('cargo %s has no outcome, or a failure', c.id)
     from shard.cargo c left join shard.outcome o on o.cargo = c.id
     where c.organization = any(ORGANIZATIONS) and o.success is not true",
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
    /// Everything that is not as it must be.
    pub(super) async fn judge(&self, account: &Account) -> Vec<String> {
        let shard = &self.world.database.shard;
        let mut wrong = self.world.ask::<String>(guards::VIOLATIONS).await;
        for question in QUESTIONS {
            let question = question.replace("ORGANIZATIONS", &self.organizations());
            wrong.extend(self.world.ask::<String>(&question).await);
        }
        let report = audit::whole(shard).await.unwrap();
        wrong.extend(report.faults.iter().map(ToString::to_string));
        wrong.extend(self.lost_jobs(account).await);
        wrong.extend(self.callbacks().await);
        if self.plan.is_calm() {
            wrong.extend(self.log.failed_steps());
        }
        wrong
    }

    /// Jobs that no batch knows of and that nobody asked to stop. One that was not listed when it
    /// was looked for, and whose creator was never answered, cannot be known.
    async fn lost_jobs(&self, account: &Account) -> Vec<String> {
        let known = "select job from shard.batch where job is not null";
        let known: Vec<String> = self.world.ask(known).await;
        let jobs = account.lock();
        let lost = jobs.iter().filter(|job| {
            let is_excused = job.was_hidden && !job.was_answered;
            !known.contains(&job.id) && !job.was_stopped && !is_excused
        });
        let lost = lost.map(|job| format!("{} runs, and no batch knows of it", job.id));
        lost.collect()
    }

    /// A callback is acknowledged at least once, and made again only after something went wrong.
    async fn callbacks(&self) -> Vec<String> {
        let posts = self.receiver.lock().clone();
        let attempts = self.attempts().await;
        let mut wrong = Vec::new();
        for cargo in self.customers.iter().flat_map(|it| &it.cargo) {
            let made: Vec<&Post> = posts.iter().filter(|it| it.cargo == *cargo).collect();
            if !made.iter().any(|it| it.is_acknowledged) {
                wrong.push(format!("the callback of {cargo} was never acknowledged"));
            }
            let recorded = attempts.get(cargo).copied().unwrap_or_default();
            let unrecorded = made.len().saturating_sub(recorded);
            let troubled = made
                .iter()
                .filter(|it| self.log.was_troubled(it.node, it.turn));
            if unrecorded > troubled.count() {
                let (all, recorded) = (made.len(), recorded);
                wrong.push(format!("the callback of {cargo} was made {all} times, recorded {recorded} times, and nothing went wrong"));
            }
        }
        wrong
    }

    async fn attempts(&self) -> HashMap<CargoId, usize> {
        let attempts = format!(
            "select a.cargo from shard.attempt a join shard.cargo c on c.id = a.cargo
             where c.organization = any({})",
            self.organizations()
        );
        let mut counts = HashMap::new();
        for cargo in self.world.ask(&attempts).await {
            *counts.entry(CargoId::from_uuid(cargo)).or_default() += 1;
        }
        counts
    }
}
