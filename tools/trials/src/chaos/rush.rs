//! Many loads of one organization at once, over both processes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::chaos::pair::Pair;
use crate::failure::{During as _, Result};
use crate::organization::Organization;
use crate::request::Loads;

/// Connections to each process; each has one load under way all the time.
const CONNECTIONS: usize = 64;

/// What came back.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Rush {
    pub accepted: u64,
    pub refused: u64,
    /// Anything but 202 and 429.
    pub others: BTreeMap<String, u64>,
    /// From before the first load to after the last answer.
    pub elapsed: Duration,
}

/// Sends so many loads as fast as they are answered, and more if that was too quick.
pub async fn rush(
    pair: &Arc<Pair>,
    loads: &Arc<Loads>,
    organization: &Organization,
    (count, at_least): (u64, Duration),
) -> Result<Rush> {
    let next = Arc::new(AtomicU64::new(0));
    let begun = Instant::now();
    let mut running = JoinSet::new();
    for place in 0..pair.targets.len() * CONNECTIONS {
        let (pair, loads, next) = (Arc::clone(pair), Arc::clone(loads), Arc::clone(&next));
        let organization = organization.clone();
        running.spawn(async move {
            let mut seen = Rush::default();
            let mut request = String::new();
            while let number = next.fetch_add(1, Ordering::Relaxed)
                && (number < count || begun.elapsed() < at_least)
                && let Some(target) = pair.targets.get(place % pair.targets.len())
            {
                loads.write(&mut request, &organization, number);
                match target.send(request.as_bytes()).await {
                    Ok(answer) => seen.note(&answer.status.to_string()),
                    Err(error) => seen.note(&error.kind().to_string()),
                }
            }
            seen
        });
    }
    let mut all = Rush::default();
    while let Some(seen) = running.join_next().await {
        let seen = seen.during("loading")?;
        all.accepted += seen.accepted;
        all.refused += seen.refused;
        for (what, times) in seen.others {
            *all.others.entry(what).or_default() += times;
        }
    }
    all.elapsed = begun.elapsed();
    Ok(all)
}

impl Rush {
    fn note(&mut self, what: &str) {
        match what {
            "202" => self.accepted += 1,
            "429" => self.refused += 1,
            other => *self.others.entry(other.to_owned()).or_default() += 1,
        }
    }
}
