//! Usage totals by model or key, largest first.

use std::collections::BTreeMap;

use chrono::NaiveDate;
use domain::money::Money;
use store::view::usage::DailyUsage;

use super::query::{UsageGroup, UsageMetric, UsageQuery};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct UsageTotals {
    pub(crate) loaded: u64,
    pub(crate) succeeded: u64,
    pub(crate) failed: u64,
    pub(crate) input_tokens: u64,
    /// The part of the input that was read from a cache.
    pub(crate) cached_tokens: u64,
    pub(crate) output_tokens: u64,
    /// The part of the output that was thoughts.
    pub(crate) thinking_tokens: u64,
    pub(crate) charged: Money,
    pub(crate) realtime: Money,
    pub(crate) saved: Money,
}

impl UsageTotals {
    fn add(&mut self, used: &DailyUsage) {
        self.loaded += used.loaded;
        self.succeeded += used.succeeded;
        self.failed += used.failed;
        self.input_tokens += used.input_tokens;
        self.cached_tokens += used.cached_tokens;
        self.output_tokens += used.output_tokens;
        self.thinking_tokens += used.thinking_tokens;
        self.charged = self.charged + used.charged;
        self.realtime = self.realtime + used.realtime;
        self.saved = self.saved + used.saved;
    }

    /// The value that a chart column shows.
    pub(crate) fn value(&self, show: UsageMetric) -> u64 {
        match show {
            UsageMetric::Cost => u64::try_from(self.charged.nanos()).unwrap_or_default(),
            UsageMetric::Tokens => self.input_tokens.saturating_add(self.output_tokens),
            UsageMetric::Cargo => self.loaded,
        }
    }

    pub(crate) fn completed(&self) -> u64 {
        self.succeeded + self.failed
    }

    pub(crate) fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

/// Classes of the distinct colours. Further groups share `OTHER_CLASS`.
const GROUP_CLASSES: [&str; 5] = ["s1", "s2", "s3", "s4", "s5"];
pub(crate) const OTHER_CLASS: &str = "s6";

#[derive(Debug)]
pub(crate) struct UsageBreakdown {
    pub(crate) ranked: Vec<(&'static str, UsageGroup, UsageTotals)>,
    pub(crate) by_day: BTreeMap<NaiveDate, BTreeMap<UsageGroup, UsageTotals>>,
    pub(crate) total: UsageTotals,
}

impl UsageBreakdown {
    pub(crate) fn of(used: &[DailyUsage], wanted: &UsageQuery) -> Self {
        let mut total = UsageTotals::default();
        let mut whole: BTreeMap<UsageGroup, UsageTotals> = BTreeMap::new();
        let mut by_day: BTreeMap<NaiveDate, BTreeMap<UsageGroup, UsageTotals>> = BTreeMap::new();
        for used in used {
            let what = UsageGroup::of(used, wanted.grouping);
            total.add(used);
            whole.entry(what.clone()).or_default().add(used);
            let day = by_day.entry(used.day).or_default();
            day.entry(what).or_default().add(used);
        }
        let mut ranked: Vec<_> = whole.into_iter().collect();
        ranked.sort_by_key(|(_, sum)| std::cmp::Reverse((sum.value(wanted.metric), sum.loaded)));
        let classes = GROUP_CLASSES
            .into_iter()
            .chain(std::iter::repeat(OTHER_CLASS));
        let ranked = classes.zip(ranked);
        Self {
            ranked: ranked
                .map(|(class, (what, sum))| (class, what, sum))
                .collect(),
            by_day,
            total,
        }
    }
}
