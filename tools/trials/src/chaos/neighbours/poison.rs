//! One free cargo full of what looks like the mock's directives: the longest silence of the others.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::catalogue::FREE;
use crate::chaos::neighbours::environment::{Environment, Plan};
use crate::chaos::neighbours::victims::{self, Victims};
use crate::failure::{During as _, Failure, Result};
use crate::figures::rounded;
use crate::http::Target;
use crate::options::{Common, NeighboursOptions};
use crate::stand::{CHAOS_MEMORY, Stand};
use crate::verdict::Verdict;

const DIRECTIVE: &str = "[mock:";
const ORGANIZATIONS: usize = 6;
/// Loads a second of the others.
const RATE: u32 = 10;
/// The longest silence of the others, in seconds.
const MAX_SILENCE: f64 = 3.0;
const SETTLING: Duration = Duration::from_secs(15);
const LOOK: Duration = Duration::from_millis(100);
/// The others go on for so long after the poison has its callback.
const AFTER: Duration = Duration::from_secs(3);

pub async fn run(
    common: &Common,
    options: &NeighboursOptions,
    verdict: &mut Verdict,
) -> Result<()> {
    let stand = Stand::build(common, CHAOS_MEMORY).await?;
    let plan = Plan {
        part: "poison",
        organizations: ORGANIZATIONS,
        workers: 1,
        settings: &[],
        open_files: None,
    };
    let environment = Environment::start(stand, plan).await?;
    let mut members = environment.members();
    let poisoner = members.pop();
    let poisoner = poisoner.ok_or_else(|| Failure::new("there is no organization to load"))?;
    let receipts = &environment.receiver.receipts;
    let serving = environment.serving.address();
    let others = Victims::new(serving, members, &[FREE], receipts);
    let length = Duration::from_secs(options.size(15, 6));
    let ((), calm) = others.load_during(RATE, tokio::time::sleep(length)).await;

    let bytes = options.size(9_000_000, 3_000_000);
    let text = DIRECTIVE.repeat(bytes / DIRECTIVE.len());
    let request = victims::written(&poisoner, FREE, &text, 64);
    let within = Duration::from_secs(options.size(60, 20));
    let poisoning = async {
        let answer = Target::new(serving).send(request.as_bytes()).await;
        let answer = answer.during("loading the poison")?;
        let refused = || {
            Failure::new(format!(
                "the poison got {} {}",
                answer.status,
                answer.json()
            ))
        };
        let cargo = answer.cargo().ok_or_else(refused)?;
        let begun = Instant::now();
        while receipts.find(cargo).is_none() && begun.elapsed() < within {
            tokio::time::sleep(LOOK).await;
        }
        let called_back = receipts.find(cargo).is_some();
        let seconds = begun.elapsed().as_secs_f64();
        tokio::time::sleep(AFTER).await;
        Ok::<_, Failure>((called_back, seconds))
    };
    let (ended, beside) = others.load_during(RATE, poisoning).await;
    let (called_back, seconds) = ended?;
    others.settle(SETTLING).await;

    let mut with = others.observe(beside, None);
    let silence = with.silence;
    victims::compare(
        verdict,
        "poison",
        &mut others.observe(calm, None),
        &mut with,
    );
    verdict
        .note(
            "poison_cargo",
            json!({"bytes": bytes, "called_back": called_back, "seconds": rounded(seconds, 2)}),
        )
        .promise(
            format!("poison: the others are never silent for more than {MAX_SILENCE} s"),
            silence <= MAX_SILENCE,
        )
        .promise("poison: it has its own callback", called_back);
    Ok(())
}
