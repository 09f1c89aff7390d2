//! Days added up: by model or by key, the largest first.

use std::collections::BTreeMap;

use chrono::NaiveDate;
use domain::money::Money;
use store::view::usage::Used;

use super::wanted::{Show, Wanted, What};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    pub(crate) loaded: u64,
    pub(crate) succeeded: u64,
    pub(crate) failed: u64,
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
    pub(crate) charged: Money,
    pub(crate) realtime: Money,
    pub(crate) saved: Money,
}

impl Sum {
    fn add(&mut self, used: &Used) {
        self.loaded += used.loaded;
        self.succeeded += used.succeeded;
        self.failed += used.failed;
        self.input_tokens += used.input_tokens;
        self.output_tokens += used.output_tokens;
        self.charged = self.charged + used.charged;
        self.realtime = self.realtime + used.realtime;
        self.saved = self.saved + used.saved;
    }

    /// What a column is as high as.
    pub(crate) fn size(&self, show: Show) -> u64 {
        match show {
            Show::Cost => u64::try_from(self.charged.nanos()).unwrap_or_default(),
            Show::Tokens => self.input_tokens.saturating_add(self.output_tokens),
            Show::Cargo => self.loaded,
        }
    }

    pub(crate) fn completed(&self) -> u64 {
        self.succeeded + self.failed
    }

    pub(crate) fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

/// The colours that can be told apart; whatever comes after them shares the last.
const CLASSES: [&str; 5] = ["s1", "s2", "s3", "s4", "s5"];
pub(crate) const OTHER: &str = "s6";

#[derive(Debug)]
pub(crate) struct Sums {
    pub(crate) ranked: Vec<(&'static str, What, Sum)>,
    pub(crate) by_day: BTreeMap<NaiveDate, BTreeMap<What, Sum>>,
    pub(crate) total: Sum,
}

impl Sums {
    pub(crate) fn of(used: &[Used], wanted: &Wanted) -> Self {
        let mut total = Sum::default();
        let mut whole: BTreeMap<What, Sum> = BTreeMap::new();
        let mut by_day: BTreeMap<NaiveDate, BTreeMap<What, Sum>> = BTreeMap::new();
        for used in used {
            let what = What::of(used, wanted.by);
            total.add(used);
            whole.entry(what.clone()).or_default().add(used);
            let day = by_day.entry(used.day).or_default();
            day.entry(what).or_default().add(used);
        }
        let mut ranked: Vec<_> = whole.into_iter().collect();
        ranked.sort_by_key(|(_, sum)| std::cmp::Reverse((sum.size(wanted.show), sum.loaded)));
        let classes = CLASSES.into_iter().chain(std::iter::repeat(OTHER));
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
