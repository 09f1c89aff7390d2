//! What is asked of the counters in one call, and what they answer.

use domain::bucket::Level;
use domain::id::{OrganizationId, ProjectId};
use domain::limit::{Backstop, Rate};
use redis::{Script, ScriptInvocation};

use super::CountersFailure;

/// Everything that waits together.
#[derive(Debug, Clone, Default)]
pub struct Asks {
    /// In microseconds; nothing means the server's own clock.
    pub now: Option<i64>,
    pub buckets: Vec<BucketAsk>,
    pub windows: Vec<WindowAsk>,
}

/// One organization's bucket: first what comes back is put in, then what is owed is
/// taken, then what is wanted as far as it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BucketAsk {
    pub organization: OrganizationId,
    pub rate: Rate,
    pub wanted: u32,
    pub given_back: u32,
    pub owed: u32,
}

/// One project's minute and hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowAsk {
    pub project: ProjectId,
    pub backstop: Backstop,
    pub wanted: u32,
}

/// The answers, in the order of the asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grants {
    pub buckets: Vec<Taken>,
    pub windows: Vec<u32>,
}

/// What was granted of a bucket, and what is in it afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    pub granted: u32,
    pub level: Level,
}

impl Asks {
    pub const fn is_empty(&self) -> bool {
        self.buckets.is_empty() && self.windows.is_empty()
    }

    pub(super) fn invocation<'a>(&self, script: &'a Script) -> ScriptInvocation<'a> {
        let mut call = script.prepare_invoke();
        match self.now {
            Some(now) => call.arg(now),
            None => call.arg(""),
        };
        call.arg(self.buckets.len());
        for ask in &self.buckets {
            call.key(format!("b:{}", ask.organization.uuid().simple()));
            call.arg(ask.rate.burst).arg(ask.rate.per_minute);
            call.arg(ask.wanted).arg(ask.given_back).arg(ask.owed);
        }
        for ask in &self.windows {
            call.key(format!("w:{}", ask.project.uuid().simple()));
            call.arg(ask.backstop.per_minute);
            call.arg(ask.backstop.per_hour).arg(ask.wanted);
        }
        call
    }

    pub(super) fn read(&self, answer: &[i64]) -> Result<Grants, CountersFailure> {
        let (buckets, windows) = answer
            .split_at_checked(2 * self.buckets.len())
            .filter(|(_, windows)| windows.len() == self.windows.len())
            .ok_or(CountersFailure::Answer)?;
        let buckets = buckets.chunks_exact(2).map(|pair| match pair {
            [granted, level] => Ok(Taken {
                granted: whole(*granted)?,
                level: Level(whole(*level)?),
            }),
            _ => Err(CountersFailure::Answer),
        });
        Ok(Grants {
            buckets: buckets.collect::<Result<_, _>>()?,
            windows: windows
                .iter()
                .map(|granted| whole(*granted))
                .collect::<Result<_, _>>()?,
        })
    }
}

fn whole<T: TryFrom<i64>>(number: i64) -> Result<T, CountersFailure> {
    T::try_from(number).map_err(|_| CountersFailure::Answer)
}
