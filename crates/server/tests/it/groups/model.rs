//! Random loads, repeats, outcomes, seals and cancellations of a group, compared with an oracle.

use domain::cargo_group::{GroupCounts, GroupStatus};
use domain::id::GroupId;
use domain::outcome::TokenUsage;
use domain::reason_code::FailureCode;
use domain::token_buckets::TokenBuckets;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};
use store::shard::group::{self, GroupResultRow};
use store::shard::node::Claim;
use store::shard::outcome::{self, ExpectedCargoState, NewOutcome};

use super::{ALL_RESULTS, create_group, error_code, is_replay, read_group, seal};
use crate::support::credit::{ONE_DOLLAR, model_chat_request};
use crate::support::http::AppResponse;
use crate::support::{Customer, TestService};

const SEEDS: u64 = 3;
const STEPS: usize = 120;
const CLAIM: Claim = Claim {
    node: uuid::Uuid::nil(),
    epoch: 1,
};
/// Some of them are also positions.
const NAMES: [&str; 6] = ["a", "b", "c", "2", "5", "9"];
const TEXTS: [&str; 2] = ["One.", "Two."];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MemberState {
    Open,
    Succeeded,
    Failed,
    Cancelled,
}

struct ExpectedMember {
    cargo: String,
    /// The custom id, or the position as text. None if that text was taken.
    name: Option<String>,
    position: u64,
    text: &'static str,
    state: MemberState,
}

/// What the service should answer and store.
#[derive(Default)]
struct GroupOracle {
    members: Vec<ExpectedMember>,
    /// Cargo in the order of their outcomes.
    ended: Vec<String>,
    is_sealed: bool,
    is_cancelled: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum ExpectedAnswer {
    Replay(String),
    New { name: Option<String>, position: u64 },
    Refused(&'static str),
}

impl GroupOracle {
    fn answer(&self, custom_id: Option<&str>, position: Option<u64>, text: &str) -> ExpectedAnswer {
        let find = |name: &str| {
            self.members
                .iter()
                .find(|it| it.name.as_deref() == Some(name))
        };
        let name = custom_id.map(str::to_owned);
        let name = name.or_else(|| position.map(|it| it.to_string()));
        if let Some(earlier) = name.as_deref().and_then(find) {
            return match custom_id {
                _ if earlier.text == text => ExpectedAnswer::Replay(earlier.cargo.clone()),
                Some(_) => ExpectedAnswer::Refused("custom_id_reused"),
                None => ExpectedAnswer::Refused("position_taken"),
            };
        }
        if self.is_sealed {
            return ExpectedAnswer::Refused("group_sealed");
        }
        let largest = self.members.iter().map(|it| it.position).max();
        let next = largest.map_or(0, |largest| largest + 1);
        let position = match (position, &name) {
            (Some(position), _) if self.members.iter().any(|it| it.position == position) => {
                return ExpectedAnswer::Refused("position_taken");
            }
            (Some(position), _) => position,
            (None, Some(_)) => next,
            (None, None) => {
                let free = (next..next + 2).find(|it| find(&it.to_string()).is_none());
                let name = free.map(|it| it.to_string());
                let position = free.unwrap_or(next);
                return ExpectedAnswer::New { name, position };
            }
        };
        ExpectedAnswer::New { name, position }
    }

    fn counts(&self) -> GroupCounts {
        let count = |state| self.members.iter().filter(|it| it.state == state).count() as u64;
        GroupCounts {
            total: self.members.len() as u64,
            succeeded: count(MemberState::Succeeded),
            failed: count(MemberState::Failed),
            cancelled: count(MemberState::Cancelled),
        }
    }

    fn status(&self) -> GroupStatus {
        let is_done = self.is_sealed && self.counts().unfinished() == 0;
        match (self.is_cancelled, is_done, self.is_sealed) {
            (true, true, _) => GroupStatus::Cancelled,
            (true, false, _) => GroupStatus::Cancelling,
            (false, true, _) => GroupStatus::Completed,
            (false, false, true) => GroupStatus::Sealed,
            (false, false, false) => GroupStatus::Open,
        }
    }
}

/// One group of one project, and what is expected of it.
struct GroupRun {
    service: TestService,
    customer: Customer,
    group: GroupId,
    oracle: GroupOracle,
    random: StdRng,
}

impl GroupRun {
    async fn new(seed: u64) -> Self {
        let service = TestService::with_prices().await;
        let customer = service.create_customer().await;
        service.add_credit(&customer, ONE_DOLLAR).await;
        let group = create_group(&service, &customer, "run").await.id;
        Self {
            service,
            customer,
            group,
            oracle: GroupOracle::default(),
            random: StdRng::seed_from_u64(seed),
        }
    }

    async fn step(&mut self) {
        match self.random.random_range(0..100) {
            0..60 => self.load().await,
            60..96 => self.end_some().await,
            96..98 => {
                seal(&self.service, &self.customer, self.group).await;
                self.oracle.is_sealed = true;
            }
            _ => self.cancel().await,
        }
    }

    async fn load(&mut self) {
        let names = self.random.random_range(0..NAMES.len() * 2);
        let custom_id = NAMES.get(names).copied();
        let position = self.random.random_range(0..20_u64);
        let position = (position < 8).then_some(position);
        let text = TEXTS[self.random.random_range(0..TEXTS.len())];
        let mut body = model_chat_request("priced", text, 64);
        body["group_id"] = json!(self.group.to_string());
        body["custom_id"] = json!(custom_id);
        body["position"] = json!(position);
        let expected = self.oracle.answer(custom_id, position, text);
        let answer = self.service.post_load(&self.customer, &body).await;
        self.compare(expected, &answer, text);
    }

    fn compare(&mut self, expected: ExpectedAnswer, answer: &AppResponse, text: &'static str) {
        match expected {
            ExpectedAnswer::Replay(cargo) => {
                assert!(is_replay(answer));
                assert_eq!(answer.cargo_id(), cargo);
            }
            ExpectedAnswer::Refused(code) => assert_eq!(error_code(answer), (409, code)),
            ExpectedAnswer::New { name, position } => {
                assert!(!is_replay(answer));
                self.oracle.members.push(ExpectedMember {
                    cargo: answer.cargo_id(),
                    name,
                    position,
                    text,
                    state: MemberState::Open,
                });
            }
        }
    }

    /// Ends up to three open cargo in one transaction.
    async fn end_some(&mut self) {
        let mut outcomes = Vec::new();
        for _ in 0..self.random.random_range(1..4) {
            let open = self.oracle.members.iter_mut();
            let mut open: Vec<_> = open.filter(|it| it.state == MemberState::Open).collect();
            if open.is_empty() {
                break;
            }
            let member = open.swap_remove(self.random.random_range(0..open.len()));
            member.state = match self.random.random_range(0..3) {
                0 => MemberState::Succeeded,
                1 => MemberState::Failed,
                _ => MemberState::Cancelled,
            };
            self.oracle.ended.push(member.cargo.clone());
            outcomes.push(new_outcome(&self.customer, &member.cargo, member.state));
        }
        let (count, now) = (outcomes.len(), self.service.now());
        let state = ExpectedCargoState::Waiting;
        let stored = outcome::record(&self.service.north, state, CLAIM, outcomes, now).await;
        assert_eq!(stored.unwrap().len(), count);
    }

    async fn cancel(&mut self) {
        let (project, now) = (self.customer.project, self.service.now());
        let cancelled = group::request_cancel(&self.service.north, project, self.group, now).await;
        let cancelled = cancelled.unwrap().unwrap();
        let was_completed = self.oracle.status() == GroupStatus::Completed;
        self.oracle.is_sealed = true;
        self.oracle.is_cancelled |= !was_completed;
        assert_eq!(cancelled.status(), self.oracle.status());
    }

    /// The counts and sums of the group are those of its rows, and results have no gap.
    async fn check(&self) {
        let row = read_group(&self.service, &self.customer, self.group).await;
        assert_eq!(row.counts, self.oracle.counts());
        assert_eq!(row.status(), self.oracle.status());
        let sums = "select jsonb_build_array(
                coalesce(sum(o.input_tokens), 0)::bigint, coalesce(sum(o.output_tokens), 0)::bigint,
                coalesce(sum(o.charged), 0)::bigint,
                coalesce(sum(c.held) filter (where c.completed_at is null), 0)::bigint)
            from shard.cargo c left join shard.outcome o on o.cargo = c.id
            where c.group_id = $1";
        let sums = sqlx::query_scalar::<_, Value>(sums).bind(self.group.uuid());
        let sums = sums.fetch_one(&self.service.north.pool).await.unwrap();
        let usage = row.usage;
        let expected = json!([
            usage.input_tokens,
            usage.output_tokens,
            row.charged.nanos(),
            row.held.nanos(),
        ]);
        assert_eq!(sums, expected);
        let (shard, project) = (&self.service.north, self.customer.project);
        let ended = group::results_by_number(shard, project, self.group, ALL_RESULTS).await;
        let ended = ended.unwrap();
        let numbers: Vec<_> = ended.iter().filter_map(|row| row.number).collect();
        assert_eq!(numbers, (1..=ended.len() as u64).collect::<Vec<_>>());
        let cargo: Vec<_> = ended.iter().map(|row| row.cargo.to_string()).collect();
        assert_eq!(cargo, self.oracle.ended);
        let rows = group::results_by_position(shard, project, self.group, ALL_RESULTS).await;
        let places: Vec<_> = rows.unwrap().iter().map(place).collect();
        let mut expected: Vec<_> = self.oracle.members.iter().map(expected_place).collect();
        expected.sort();
        assert_eq!(places, expected);
        let failures = group::failures(shard, self.group, 10).await.unwrap();
        let failed: u64 = failures.iter().map(|it| it.count).sum();
        assert_eq!(failed, row.counts.failed);
    }
}

fn place(row: &GroupResultRow) -> (u64, String, String, bool) {
    let name = row.custom_id.clone();
    let name = name.unwrap_or_else(|| row.position.to_string());
    (
        row.position,
        name,
        row.cargo.to_string(),
        row.outcome.is_some(),
    )
}

fn expected_place(member: &ExpectedMember) -> (u64, String, String, bool) {
    let name = member.name.clone();
    let name = name.unwrap_or_else(|| member.position.to_string());
    (
        member.position,
        name,
        member.cargo.clone(),
        member.state != MemberState::Open,
    )
}

fn new_outcome(customer: &Customer, cargo: &str, state: MemberState) -> NewOutcome {
    let (body, failure_code): (&[u8], _) = match state {
        MemberState::Cancelled => (b"cancelled", Some(FailureCode::Cancelled)),
        MemberState::Failed => (b"storm", Some(FailureCode::RequestRejected)),
        MemberState::Succeeded | MemberState::Open => (b"{}", None),
    };
    let success = failure_code.is_none();
    let used = if success { 2 } else { 0 };
    NewOutcome {
        cargo: cargo.parse().unwrap(),
        project: customer.project,
        attempt: 1,
        success,
        failure_code,
        body: store::body::pack(body),
        usage: TokenBuckets::plain(TokenUsage {
            input_tokens: used,
            output_tokens: used,
        }),
        cost: None,
        served: None,
        realtime: None,
        claim_delivery: false,
    }
}

#[tokio::test]
async fn a_group_agrees_with_its_rows_whatever_happens() {
    for seed in 0..SEEDS {
        let mut run = GroupRun::new(seed).await;
        for _ in 0..STEPS {
            run.step().await;
        }
        run.check().await;
        while run.oracle.counts().unfinished() > 0 {
            run.end_some().await;
        }
        run.check().await;
    }
}
