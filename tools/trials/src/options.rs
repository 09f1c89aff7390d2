//! The command line.

use std::path::PathBuf;

use clap::{ArgMatches, Args, Parser, Subcommand, ValueEnum};

mod bench;
mod fault_injection;

pub use bench::*;
pub use fault_injection::*;

/// Checks a `longshored` against its promises. The last line of output is the verdict, in JSON.
#[derive(Debug, Parser)]
#[command(version, about)]
pub struct Options {
    #[command(flatten)]
    pub common: CommonOptions,
    #[command(subcommand)]
    pub verb: TrialsVerb,
}

#[derive(Debug, Clone, Args)]
pub struct CommonOptions {
    /// The `longshored` binary to test.
    #[arg(long, value_name = "PATH", default_value = "longshored")]
    pub longshored: PathBuf,
    /// The command line for callers, for trials of it.
    #[arg(long, value_name = "PATH", default_value = "longshore")]
    pub longshore: PathBuf,
    /// The SeaweedFS binary, for trials with files.
    #[arg(long, value_name = "PATH", default_value = "weed")]
    pub weed: PathBuf,
    /// The simulator binary, for trials with providers.
    #[arg(long, value_name = "PATH", default_value = "simulator")]
    pub simulator: PathBuf,
    /// Keep the logs of all processes in this folder.
    #[arg(long, value_name = "FOLDER")]
    pub logs: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum TrialsVerb {
    /// Measure how fast the service is.
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Break something and check that the service keeps its promises.
    #[command(subcommand)]
    Chaos(ChaosCommand),
    /// Run all chaos trials in turns, with random seeds, and sum up their results.
    Soak(SoakOptions),
    /// Start servers for `./dev`, and stop them on SIGTERM.
    Servers(ServersOptions),
}

#[derive(Debug, Clone, Args)]
pub struct ServersOptions {
    /// The folder of their data and logs; it is removed at the end.
    #[arg(long, value_name = "FOLDER")]
    pub folder: PathBuf,
    /// Write their addresses here, as shell variables, once all work.
    #[arg(long, value_name = "FILE")]
    pub env: PathBuf,
    /// Do not sync PostgreSQL's data to disk.
    #[arg(long)]
    pub throwaway: bool,
    /// Start Redis, too.
    #[arg(long)]
    pub redis: bool,
    /// Start an object store and a scanner, too.
    #[arg(long)]
    pub files: bool,
}

#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Loads per second, compared with bare inserts by pgbench.
    Load(BenchLoadOptions),
    /// Loads per second of bulk loads, compared with single loads.
    Bulk(BenchBulkOptions),
    /// Throughput from load to delivered callback.
    Journey(BenchJourneyOptions),
    /// Gathering from a large backlog, compared with a small one.
    Gather(BenchGatherOptions),
    /// Cargo of many organizations through the batches of a simulated provider.
    Batches(BenchBatchesOptions),
    /// Videos of 1 GB from session to ready, with loads in the background.
    Videos(BenchVideosOptions),
    /// The ways, times and cost of cargo with deadlines, with a clock sixty times as fast.
    Routes(BenchRoutesOptions),
    /// The cost of long-polls that wait, and how soon they are answered.
    Waits(BenchWaitsOptions),
}

#[derive(Debug, Subcommand)]
pub enum ChaosCommand {
    /// Kill processes at random.
    Kill(ChaosLoadOptions),
    /// Cut database connections inside transactions, and let them hang.
    Connections(ChaosLoadOptions),
    /// Restart processes one after the other.
    Restart(ChaosLoadOptions),
    /// Stop each database server in turn.
    Shard(ChaosShardOptions),
    /// Send more loads at once than each plan allows.
    Limits(ChaosLimitsOptions),
    /// Flush, kill and freeze Redis.
    Redis(ChaosRedisOptions),
    /// Upload files with every kind of fault.
    Files(ChaosFilesOptions),
    /// Stop, freeze, interrupt, reload and limit the malware scanner, and hide test malware
    /// from it.
    Scanner(ChaosScannerOptions),
    /// Stop the object store and start it again.
    Store(ChaosStoreOptions),
    /// Kill workers at every failpoint of a submission; needs a `longshored` with the feature
    /// chaos.
    Submit(ChaosSubmitOptions),
    /// Let a real model answer, and kill its server and the worker.
    Server(ChaosServerOptions),
    /// Stop processes inside transactions and results, then continue or kill them.
    Freeze(ChaosInterruptionOptions),
    /// Silence the connection between a process and PostgreSQL without closing it.
    Partition(ChaosInterruptionOptions),
    /// Kill the primary and promote its synchronous standby.
    Promote(ChaosPromoteOptions),
    /// Restore the database to an earlier moment while providers and the bucket go on.
    Restore(ChaosRestoreOptions),
    /// Kill, freeze and cut off the primary of three servers with Patroni.
    Failover(ChaosFailoverOptions),
    /// Make database statements fail, hang, or run with their answer lost.
    Statements(ChaosStatementsOptions),
    /// Too much load, a distant database, wrong clocks and a full disk.
    Overload(ChaosOverloadOptions),
    /// Measure how a faulty neighbour affects the others: a hanging provider, a flood, dead
    /// receivers, poison, large loads, half-open requests.
    Neighbours(ChaosNeighboursOptions),
    /// Hold thousands of connections without a key, idle, dripping or unread, while others load.
    Idle(ChaosIdleOptions),
    /// Cancel a group and single cargo of it while workers gather, submit and collect.
    Cancel(ChaosCancelOptions),
    /// Search the files of the database, logs and temporary files for contents, with encryption at
    /// rest and without.
    Markers(ChaosMarkersOptions),
    /// Cause a real fault for every alert, until Prometheus says that it fires, and ask every query
    /// of the dashboards.
    Alerts(ChaosAlertsOptions),
    /// Kill `longshore run` of a large file five times, and `map` of the Python client once, and
    /// start them again each time.
    Run(ChaosRunOptions),
    /// Migrate and replace the version before under load, with many cargo stored, and roll back.
    Upgrade(ChaosUpgradeOptions),
    /// Send callbacks to `longshore listen` without a receiver, then to a newer terminal.
    Listen(ChaosListenOptions),
}

#[derive(Debug, Clone, Args)]
pub struct ChaosLoadOptions {
    /// Seconds of the whole trial.
    #[arg(long, default_value_t = 60)]
    pub seconds: u64,
    /// Loads per second.
    #[arg(long, default_value_t = 250)]
    pub rate: u32,
}

#[derive(Debug, Clone, Args)]
pub struct ChaosShardOptions {
    /// Seconds that each server is down.
    #[arg(long, default_value_t = 20)]
    pub seconds: u64,
    /// Loads per second.
    #[arg(long, default_value_t = 200)]
    pub rate: u32,
}

#[derive(Debug, Clone, Args)]
pub struct ChaosLimitsOptions {
    /// How often to try the burst of each plan.
    #[arg(long, default_value_t = 3)]
    pub rounds: u32,
    /// How often a caller waits for Retry-After.
    #[arg(long, default_value_t = 5)]
    pub waits: u32,
}

#[derive(Debug, Clone, Args)]
pub struct ChaosRedisOptions {
    /// Seconds in which accepted loads are counted after each recovery.
    #[arg(long, default_value_t = 10)]
    pub seconds: u64,
    /// Loads per second of the organizations far below their limit.
    #[arg(long, default_value_t = 150)]
    pub rate: u32,
}

#[derive(Debug, Clone, Args)]
pub struct ChaosFilesOptions {
    #[arg(long, default_value_t = 2000)]
    pub uploads: usize,
}

#[derive(Debug, Clone, Args)]
pub struct ChaosScannerOptions {
    /// Also scan a video of 1 GB with test malware near its end; takes minutes.
    #[arg(long)]
    pub large: bool,
}

#[derive(Debug, Clone, Args)]
pub struct ChaosStoreOptions {
    /// Seconds that the store is down.
    #[arg(long, default_value_t = 15)]
    pub seconds: u64,
    /// Loads per second.
    #[arg(long, default_value_t = 100)]
    pub rate: u32,
}

#[derive(Debug, Clone, Args)]
pub struct ChaosSubmitOptions {
    /// How often to try every failpoint for every provider, each time in another order.
    #[arg(long, default_value_t = 3)]
    pub seeds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 1)]
    pub first: u64,
    /// Load at least this many cargo.
    #[arg(long, default_value_t = 500)]
    pub cargo: usize,
    /// Try only this many failpoints, spread over the path.
    #[arg(long, default_value_t = usize::MAX)]
    pub points: usize,
    /// Number of workers that run, and are killed, at the same time.
    #[arg(long, default_value_t = 2)]
    pub workers: usize,
    /// Every failpoint must have killed a worker within this time.
    #[arg(long, default_value_t = 30)]
    pub minutes: u64,
}

#[derive(Debug, Clone, Args)]
pub struct ChaosServerOptions {
    /// Cargo to load; from 100 on, the worker is killed too.
    #[arg(long, default_value_t = 200)]
    pub cargo: usize,
    /// Afterwards, load this many cargo with a JSON schema, and a fifth as many with a forced call
    /// of a tool.
    #[arg(long, default_value_t = 0)]
    pub schemas: usize,
    /// A Python with llama.cpp and the model.
    #[arg(long, value_name = "PATH")]
    pub python: PathBuf,
    /// The script that runs the model's server.
    #[arg(long, value_name = "PATH", default_value = "scripts/llama.py")]
    pub script: PathBuf,
}

/// The name of a value on the command line.
pub fn value_name(value: &impl ValueEnum) -> String {
    let value = value.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}

/// The name in the verdict: the subcommands, such as `chaos kill`.
pub fn verdict_name(matches: &ArgMatches) -> String {
    let mut names = Vec::new();
    let mut command = matches.subcommand();
    while let Some((name, more)) = command {
        names.push(name);
        command = more.subcommand();
    }
    names.join(" ")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory as _;

    use super::*;

    const SHORT_RUNS: &str = include_str!("../../../scripts/short.sh");
    const LONG_RUNS: &str = include_str!("../../../scripts/long.sh");

    /// Benches that are not trials of this program.
    const OTHER_BENCHES: [&str; 3] = ["bench pages", "bench history", "bench audit"];

    /// The trials of a list. `./dev` gives each line to this program, so each must be valid.
    fn list_trials(list: &str) -> BTreeSet<String> {
        let is_trial = |line: &&str| line.starts_with("bench ") || line.starts_with("chaos ");
        let ours = list.lines().filter(is_trial);
        let is_other = |line: &str| OTHER_BENCHES.iter().any(|other| line.starts_with(other));
        let ours = ours.filter(|line| !is_other(line));
        let parse = |line: &str| {
            let line = line.replace(" --release", "");
            let line = line.replace("chaos server", "chaos server --python python3");
            let command = format!("trials --longshored longshored {line}");
            let matches = Options::command().try_get_matches_from(command.split_whitespace());
            verdict_name(&matches.unwrap_or_else(|error| panic!("{line}: {error}")))
        };
        ours.map(parse).collect()
    }

    /// Whether the short runs of a trial name every part; a run without a part runs all.
    fn names_every_part<T: ValueEnum>(trial: &str) -> bool {
        let is_named = |part: &T| {
            let option = format!("--part {}", value_name(part));
            let mut runs = SHORT_RUNS.lines().filter(|line| line.starts_with(trial));
            runs.any(|run| !run.contains("--part") || run.contains(&option))
        };
        T::value_variants().iter().all(is_named)
    }

    #[test]
    fn every_bench_and_chaos_trial_has_a_short_and_a_long_run() {
        let command = Options::command();
        let mut expected = BTreeSet::new();
        for group in ["bench", "chaos"] {
            let trials = command.find_subcommand(group).unwrap().get_subcommands();
            expected.extend(trials.map(|trial| format!("{group} {}", trial.get_name())));
        }
        for list in [SHORT_RUNS, LONG_RUNS] {
            assert_eq!(list_trials(list), expected);
            for other in OTHER_BENCHES {
                assert!(list.contains(&format!("\n{other}")), "{other}");
            }
        }
    }

    #[test]
    fn short_runs_name_every_part() {
        assert!(names_every_part::<NeighbourPart>("chaos neighbours"));
        assert!(names_every_part::<OverloadPart>("chaos overload"));
        assert!(names_every_part::<IdlePart>("chaos idle"));
    }
}
