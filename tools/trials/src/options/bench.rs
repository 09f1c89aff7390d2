//! Options of benches. With `--small` a bench runs for seconds: it shows that the bench still works.

use clap::Args;
use clap::builder::ArgPredicate;

#[derive(Debug, Clone, Args)]
pub struct BenchLoadOptions {
    /// Seconds of each measurement; a round has six.
    #[arg(long, default_value_t = 10, default_value_if("small", "true", "1"))]
    pub seconds: u64,
    #[arg(long, default_value_t = 5, default_value_if("small", "true", "1"))]
    pub rounds: u32,
    #[arg(long, default_value_t = 64, default_value_if("small", "true", "8"))]
    pub connections: usize,
    /// The number of organizations that one organization is compared with.
    #[arg(long, default_value_t = 1000, default_value_if("small", "true", "20"))]
    pub organizations: usize,
    /// Run for seconds, and judge no figures: for CI.
    #[arg(long)]
    pub small: bool,
}

#[derive(Debug, Clone, Args)]
pub struct BenchBulkOptions {
    /// Seconds of each measurement; a round has two.
    #[arg(long, default_value_t = 10, default_value_if("small", "true", "1"))]
    pub seconds: u64,
    #[arg(long, default_value_t = 5, default_value_if("small", "true", "1"))]
    pub rounds: u32,
    /// Connections of single loads.
    #[arg(long, default_value_t = 64, default_value_if("small", "true", "8"))]
    pub connections: usize,
    /// Connections of bulk loads.
    #[arg(long, default_value_t = 4, default_value_if("small", "true", "2"))]
    pub bulk_connections: usize,
    /// Loads in a request.
    #[arg(long, default_value_t = 1000, default_value_if("small", "true", "100"))]
    pub items: u64,
    #[arg(long, default_value_t = 100, default_value_if("small", "true", "4"))]
    pub organizations: usize,
    /// Run for seconds, and judge no figures: for CI.
    #[arg(long)]
    pub small: bool,
}

#[derive(Debug, Clone, Args)]
pub struct BenchJourneyOptions {
    /// Seconds of the measured window.
    #[arg(
        long,
        default_value_t = 60,
        default_value_ifs([("small", "true", "2"), ("encrypted", "true", "20")]),
        default_value_if("tracing", ArgPredicate::IsPresent, "20")
    )]
    pub seconds: u64,
    #[arg(long, default_value_t = 64, default_value_if("small", "true", "8"))]
    pub connections: usize,
    #[arg(long, default_value_t = 100, default_value_if("small", "true", "4"))]
    pub organizations: usize,
    /// Pause loading while this many cargo are in flight.
    #[arg(long, default_value_t = 3000, default_value_if("small", "true", "200"))]
    pub in_flight: u64,
    /// Load for a priced model.
    #[arg(long)]
    pub priced: bool,
    /// Compare rounds that encrypt at rest with rounds that do not, in turns.
    #[arg(long)]
    pub encrypted: bool,
    /// Compare rounds that trace this share of the loads, from 0 to 1, with rounds that trace
    /// nothing, in turns. The spans go to a collector on loopback.
    #[arg(long, value_name = "RATIO", conflicts_with = "encrypted")]
    pub tracing: Option<String>,
    /// Rounds of each in such a comparison.
    #[arg(long, default_value_t = 5, default_value_if("small", "true", "1"))]
    pub rounds: u32,
    /// Run for seconds, and judge no figures: for CI.
    #[arg(long)]
    pub small: bool,
}

#[derive(Debug, Clone, Args)]
pub struct BenchGatherOptions {
    /// Size of the large backlog.
    #[arg(
        long,
        default_value_t = 5_000_000,
        default_value_if("small", "true", "20000")
    )]
    pub waiting: i64,
    /// Gather this many before the second measurement.
    #[arg(
        long,
        default_value_t = 2_000_000,
        default_value_if("small", "true", "5000")
    )]
    pub gathered: i64,
    #[arg(
        long,
        default_value_t = 10_000,
        default_value_if("small", "true", "100")
    )]
    pub organizations: i64,
    /// How many gathers each measurement counts.
    #[arg(long, default_value_t = 50, default_value_if("small", "true", "5"))]
    pub gathers: usize,
    /// Run for seconds, and judge no figures: for CI.
    #[arg(long)]
    pub small: bool,
}

#[derive(Debug, Clone, Args)]
pub struct BenchBatchesOptions {
    /// Cargo to load; half of it belongs to one organization.
    #[arg(
        long,
        default_value_t = 100_000,
        default_value_if("small", "true", "400")
    )]
    pub cargo: usize,
    #[arg(long, default_value_t = 200, default_value_if("small", "true", "8"))]
    pub organizations: usize,
    /// Tokens that may be enqueued at the account, for both shards together.
    #[arg(long, default_value_t = 20_000_000)]
    pub enqueued_tokens: u64,
    /// Fill a job of 200 MB instead: few cargo of 100 KB each.
    #[arg(long, conflicts_with_all = ["cargo", "organizations", "enqueued_tokens", "small"])]
    pub large: bool,
    /// Run for seconds, and judge no figures: for CI.
    #[arg(long)]
    pub small: bool,
}

#[derive(Debug, Clone, Args)]
pub struct BenchVideosOptions {
    /// Videos at the same time, after a single one.
    #[arg(long, default_value_t = 10, default_value_if("small", "true", "1"))]
    pub count: usize,
    /// The size of each video in MB.
    #[arg(long, default_value_t = 1024, default_value_if("small", "true", "60"))]
    pub megabytes: u64,
    /// Loads per second in the background.
    #[arg(long, default_value_t = 100, default_value_if("small", "true", "10"))]
    pub rate: u32,
    /// Run for seconds, and judge no figures: for CI.
    #[arg(long)]
    pub small: bool,
}

#[derive(Debug, Clone, Args)]
pub struct BenchRoutesOptions {
    /// Cargo to load: a third each with deadlines of a day, two hours and ten minutes.
    #[arg(long, default_value_t = 900, default_value_if("small", "true", "30"))]
    pub cargo: usize,
    /// Loads per second.
    #[arg(long, default_value_t = 9, default_value_if("small", "true", "6"))]
    pub rate: u32,
    /// Run for seconds, and judge no figures: for CI.
    #[arg(long)]
    pub small: bool,
}

#[derive(Debug, Clone, Args)]
pub struct BenchWaitsOptions {
    /// Long-polls that wait at once.
    #[arg(
        long,
        default_value_t = 10_000,
        default_value_if("small", "true", "200")
    )]
    pub waits: usize,
    /// Seconds of the measurement while nothing happens. The service answers after 50 s.
    #[arg(long, default_value_t = 60, default_value_if("small", "true", "3"))]
    pub seconds: u64,
    /// Run for seconds, and judge no figures: for CI.
    #[arg(long)]
    pub small: bool,
}

impl BenchRoutesOptions {
    pub fn cargo_per_class(&self) -> usize {
        (self.cargo / 3).max(1)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use crate::options::{BenchCommand, Options, TrialsVerb};

    #[test]
    fn a_small_bench_is_small_where_no_size_is_given() {
        let sizes = |arguments: &str| {
            let command = format!("trials --longshored longshored bench load {arguments}");
            let options = Options::try_parse_from(command.split_whitespace()).unwrap();
            let TrialsVerb::Bench(BenchCommand::Load(load)) = options.verb else {
                panic!("{:?}", options.verb);
            };
            (load.seconds, load.rounds, load.organizations, load.small)
        };
        assert_eq!(sizes(""), (10, 5, 1000, false));
        assert_eq!(sizes("--small"), (1, 1, 20, true));
        assert_eq!(sizes("--small --rounds 2"), (1, 2, 20, true));
    }

    #[test]
    fn rounds_of_a_comparison_are_shorter() {
        let sizes = |arguments: &str| {
            let command = format!("trials --longshored longshored bench journey {arguments}");
            let options = Options::try_parse_from(command.split_whitespace()).unwrap();
            let TrialsVerb::Bench(BenchCommand::Journey(journey)) = options.verb else {
                panic!("{:?}", options.verb);
            };
            (journey.seconds, journey.rounds)
        };
        assert_eq!(sizes(""), (60, 5));
        assert_eq!(sizes("--encrypted"), (20, 5));
        assert_eq!(sizes("--small --encrypted"), (2, 1));
        assert_eq!(sizes("--tracing 0.01"), (20, 5));
        assert_eq!(sizes("--small --tracing 1"), (2, 1));
    }
}
