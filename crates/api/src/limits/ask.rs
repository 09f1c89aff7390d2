//! Those who wait together: made into one question, and answered each by itself.

use std::collections::HashMap;
use std::sync::Arc;

use domain::id::{OrganizationId, ProjectId};
use domain::limit::{Backstop, Rate};
use outbound::counters::{Asks, BucketAsk, Grants, WindowAsk};
use tokio::sync::oneshot;

use crate::limits::local;
use crate::limits::pass::Pass;
use crate::limits::refusal::{Backstopped, Empty};
use crate::limits::returns::{Origin, Returns};
use crate::limits::standing::Standing;

type Taker = oneshot::Sender<Result<Pass, Empty>>;
type Counted = oneshot::Sender<Result<(), Backstopped>>;

#[derive(Debug)]
pub(super) enum Ask {
    Take {
        organization: OrganizationId,
        rate: Rate,
        answer: Taker,
    },
    Count {
        project: ProjectId,
        answer: Counted,
    },
}

/// In the order in which they came, one entry for each organization and project.
#[derive(Debug, Default)]
pub(super) struct Group {
    organizations: HashMap<OrganizationId, usize>,
    takers: Vec<(OrganizationId, Rate, Vec<Taker>)>,
    projects: HashMap<ProjectId, usize>,
    counted: Vec<(ProjectId, Vec<Counted>)>,
    size: usize,
}

impl Group {
    pub(super) const fn size(&self) -> usize {
        self.size
    }

    pub(super) fn push(&mut self, ask: Ask) {
        self.size += 1;
        match ask {
            Ask::Take {
                organization,
                rate,
                answer,
            } => {
                let next = self.takers.len();
                let place = *self.organizations.entry(organization).or_insert(next);
                if place == next {
                    self.takers.push((organization, rate, Vec::new()));
                }
                if let Some((_, its_rate, takers)) = self.takers.get_mut(place) {
                    // A plan may have changed a moment ago.
                    *its_rate = rate;
                    takers.push(answer);
                }
            }
            Ask::Count { project, answer } => {
                let next = self.counted.len();
                let place = *self.projects.entry(project).or_insert(next);
                if place == next {
                    self.counted.push((project, Vec::new()));
                }
                if let Some((_, counted)) = self.counted.get_mut(place) {
                    counted.push(answer);
                }
            }
        }
    }

    pub(super) fn asks(&self, now: Option<i64>, backstop: Backstop) -> Asks {
        let buckets = self.takers.iter();
        let buckets = buckets.map(|(organization, rate, takers)| BucketAsk {
            organization: *organization,
            rate: *rate,
            wanted: count(takers),
            given_back: 0,
            owed: 0,
        });
        let windows = self.counted.iter().map(|(project, counted)| WindowAsk {
            project: *project,
            backstop,
            wanted: count(counted),
        });
        Asks {
            now,
            buckets: buckets.collect(),
            windows: windows.collect(),
        }
    }

    /// Grants go to who came first. Each is told how the bucket stood after their own turn.
    pub(super) fn answer(
        self,
        grants: &Grants,
        origin: Origin,
        nodes: u32,
        returns: &Arc<Returns>,
    ) {
        for ((organization, rate, takers), taken) in self.takers.into_iter().zip(&grants.buckets) {
            let weight = match origin {
                Origin::Redis => 1,
                Origin::Here => local::weight(nodes, rate),
            };
            let last = Standing {
                rate,
                level: taken.level,
                weight,
            };
            for (taker, turn) in takers.into_iter().zip(1..) {
                let answer = if turn <= taken.granted {
                    let standing = last.with_back(taken.granted - turn);
                    let returns = Arc::clone(returns);
                    Ok(Pass::new(organization, standing, origin, returns))
                } else {
                    Err(Empty(last))
                };
                // Who hung up leaves the pass here, and it goes back.
                let _left = taker.send(answer);
            }
        }
        for ((_, counted), granted) in self.counted.into_iter().zip(&grants.windows) {
            for (counted, turn) in counted.into_iter().zip(1..) {
                let answer = if turn <= *granted {
                    Ok(())
                } else {
                    Err(Backstopped)
                };
                let _left = counted.send(answer);
            }
        }
    }
}

fn count<T>(waiting: &[T]) -> u32 {
    u32::try_from(waiting.len()).unwrap_or(u32::MAX)
}
