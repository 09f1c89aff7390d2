//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

mod faults;

pub use faults::*;

/// Holds a `longshored` against its promises; the last line is the verdict, in JSON.
#[derive(Debug, Parser)]
#[command(version, about)]
pub struct Options {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub verb: Verb,
}

#[derive(Debug, Clone, Args)]
pub struct Common {
    /// The program under trial.
    #[arg(long, value_name = "PATH")]
    pub longshored: PathBuf,
    /// The object store that trials of files start.
    #[arg(long, value_name = "PATH", default_value = "weed")]
    pub weed: PathBuf,
    /// The providers' side, where trials need one.
    #[arg(long, value_name = "PATH", default_value = "simulator")]
    pub simulator: PathBuf,
    /// Keep the logs of all processes in this folder.
    #[arg(long, value_name = "FOLDER")]
    pub logs: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// How fast.
    #[command(subcommand)]
    Bench(Bench),
    /// Whether it holds when things break.
    #[command(subcommand)]
    Chaos(Chaos),
    /// All trials of chaos in turns, with random seeds, and what they come to.
    Soak(SoakOptions),
}

#[derive(Debug, Subcommand)]
pub enum Bench {
    /// Loads a second beside bare inserts by pgbench.
    Load(LoadOptions),
    /// From load to delivered callback.
    Journey(JourneyOptions),
    /// Gathering from a large backlog beside a small one.
    Gather(GatherOptions),
    /// Cargo of many organizations through a simulated provider's batches.
    Batches(BatchesOptions),
    /// Videos of 1 GB from session to ready, with loads beside them.
    Videos(VideosOptions),
}

#[derive(Debug, Clone, Args)]
pub struct LoadOptions {
    /// The length of each measurement; a round has six.
    #[arg(long, default_value_t = 10)]
    pub seconds: u64,
    #[arg(long, default_value_t = 5)]
    pub rounds: u32,
    #[arg(long, default_value_t = 64)]
    pub connections: usize,
    /// The many that one organization alone is compared with.
    #[arg(long, default_value_t = 1000)]
    pub organizations: usize,
}

#[derive(Debug, Clone, Args)]
pub struct JourneyOptions {
    /// The length of the measured window.
    #[arg(long, default_value_t = 60)]
    pub seconds: u64,
    #[arg(long, default_value_t = 64)]
    pub connections: usize,
    #[arg(long, default_value_t = 100)]
    pub organizations: usize,
    /// Loading pauses while so many cargo are on their way.
    #[arg(long, default_value_t = 3000)]
    pub in_flight: u64,
    /// Loads for a model that costs money.
    #[arg(long)]
    pub priced: bool,
}

#[derive(Debug, Clone, Args)]
pub struct GatherOptions {
    /// The large backlog.
    #[arg(long, default_value_t = 5_000_000)]
    pub waiting: i64,
    /// So many are gathered before the second measurement.
    #[arg(long, default_value_t = 2_000_000)]
    pub gathered: i64,
    #[arg(long, default_value_t = 10_000)]
    pub organizations: i64,
}

#[derive(Debug, Clone, Args)]
pub struct BatchesOptions {
    /// Half of it is of one organization.
    #[arg(long, default_value_t = 100_000)]
    pub cargo: usize,
    #[arg(long, default_value_t = 200)]
    pub organizations: usize,
    /// What may wait at the account, for both shards together.
    #[arg(long, default_value_t = 20_000_000)]
    pub enqueued_tokens: u64,
    /// A job of 200 MB instead: few cargo, 100 KB each.
    #[arg(long, conflicts_with_all = ["cargo", "organizations", "enqueued_tokens"])]
    pub large: bool,
}

#[derive(Debug, Subcommand)]
pub enum Chaos {
    /// Processes are killed at random.
    Kill(ChaosOptions),
    /// Database connections are cut in mid-transaction.
    Connections(ChaosOptions),
    /// Processes are restarted one after the other.
    Restart(ChaosOptions),
    /// Each database server is stopped in turn.
    Shard(ShardOptions),
    /// More loads at once than each plan allows.
    Limits(LimitsOptions),
    /// Redis is wiped, killed and frozen.
    Redis(RedisOptions),
    /// Uploads with every kind of mishap.
    Files(FilesOptions),
    /// The scanner is away, frozen, interrupted, reloaded and too small, and finds what is hidden.
    Scanner(ScannerOptions),
    /// The object store is stopped and started again.
    Store(StoreOptions),
    /// Workers kill themselves at every point of a submission; `longshored` has the feature chaos.
    Submit(SubmitOptions),
    /// A real model answers, and its server and the worker are killed.
    Server(ServerOptions),
    /// Processes are stopped inside transactions and results, then continued or killed.
    Freeze(InterruptionOptions),
    /// The line between a process and PostgreSQL falls silent without being closed.
    Partition(InterruptionOptions),
    /// The primary is killed and its synchronous standby promoted.
    Promote(PromoteOptions),
    /// Database statements fail, hang, or run with their answer lost.
    Statements(StatementsOptions),
    /// Too much load, a distant database, wrong clocks and a full disk.
    Overload(OverloadOptions),
    /// What a sick neighbour does to the others: a hanging provider, a flood, dead receivers,
    /// poison, large loads, half-open requests.
    Neighbours(NeighboursOptions),
}

#[derive(Debug, Clone, Args)]
pub struct ChaosOptions {
    /// How long it lasts.
    #[arg(long, default_value_t = 60)]
    pub seconds: u64,
    /// Loads a second.
    #[arg(long, default_value_t = 250)]
    pub rate: u32,
}

#[derive(Debug, Clone, Args)]
pub struct ShardOptions {
    /// How long each server is away.
    #[arg(long, default_value_t = 20)]
    pub seconds: u64,
    /// Loads a second.
    #[arg(long, default_value_t = 200)]
    pub rate: u32,
}

#[derive(Debug, Clone, Args)]
pub struct LimitsOptions {
    /// How often the burst of each plan is tried.
    #[arg(long, default_value_t = 3)]
    pub rounds: u32,
    /// How often a caller waits for Retry-After.
    #[arg(long, default_value_t = 5)]
    pub waits: u32,
}

#[derive(Debug, Clone, Args)]
pub struct RedisOptions {
    /// How long acceptance is counted after each return.
    #[arg(long, default_value_t = 10)]
    pub seconds: u64,
    /// Loads a second of those who are far below their limit.
    #[arg(long, default_value_t = 150)]
    pub rate: u32,
}

#[derive(Debug, Clone, Args)]
pub struct FilesOptions {
    #[arg(long, default_value_t = 2000)]
    pub uploads: usize,
}

#[derive(Debug, Clone, Args)]
pub struct ScannerOptions {
    /// Also a video of 1 GB with something hidden near its end: minutes.
    #[arg(long)]
    pub large: bool,
}

#[derive(Debug, Clone, Args)]
pub struct StoreOptions {
    /// How long the store is away.
    #[arg(long, default_value_t = 15)]
    pub seconds: u64,
    /// Loads a second.
    #[arg(long, default_value_t = 100)]
    pub rate: u32,
}

#[derive(Debug, Clone, Args)]
pub struct SubmitOptions {
    /// How often every point is tried for every provider, each time in another order.
    #[arg(long, default_value_t = 3)]
    pub seeds: u64,
    /// The first of the seeds.
    #[arg(long, default_value_t = 1)]
    pub first: u64,
    /// At least so many are loaded.
    #[arg(long, default_value_t = 500)]
    pub cargo: usize,
    /// Only so many of the points, spread over the path.
    #[arg(long, default_value_t = usize::MAX)]
    pub points: usize,
    /// So many processes work, and die, at the same time.
    #[arg(long, default_value_t = 2)]
    pub workers: usize,
    /// Every point must have killed within this time.
    #[arg(long, default_value_t = 30)]
    pub minutes: u64,
}

#[derive(Debug, Clone, Args)]
pub struct ServerOptions {
    /// So many are loaded; from a hundred on the worker is killed, too.
    #[arg(long, default_value_t = 200)]
    pub cargo: usize,
    /// The Python that has llama.cpp and the model.
    #[arg(long, value_name = "PATH")]
    pub python: PathBuf,
    /// What it runs: a server at a port, with so many slots.
    #[arg(long, value_name = "PATH", default_value = "scripts/llama.py")]
    pub script: PathBuf,
}

#[derive(Debug, Clone, Args)]
pub struct VideosOptions {
    /// So many at once, after one alone.
    #[arg(long, default_value_t = 10)]
    pub count: usize,
    /// The size of each, in MB.
    #[arg(long, default_value_t = 1024)]
    pub megabytes: u64,
    /// Loads a second beside them.
    #[arg(long, default_value_t = 100)]
    pub rate: u32,
}

impl Verb {
    /// What the verdict is called.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Bench(Bench::Load(_)) => "bench load",
            Self::Bench(Bench::Journey(_)) => "bench journey",
            Self::Bench(Bench::Gather(_)) => "bench gather",
            Self::Bench(Bench::Batches(_)) => "bench batches",
            Self::Bench(Bench::Videos(_)) => "bench videos",
            Self::Chaos(Chaos::Kill(_)) => "chaos kill",
            Self::Chaos(Chaos::Connections(_)) => "chaos connections",
            Self::Chaos(Chaos::Restart(_)) => "chaos restart",
            Self::Chaos(Chaos::Shard(_)) => "chaos shard",
            Self::Chaos(Chaos::Limits(_)) => "chaos limits",
            Self::Chaos(Chaos::Redis(_)) => "chaos redis",
            Self::Chaos(Chaos::Files(_)) => "chaos files",
            Self::Chaos(Chaos::Scanner(_)) => "chaos scanner",
            Self::Chaos(Chaos::Store(_)) => "chaos store",
            Self::Chaos(Chaos::Submit(_)) => "chaos submit",
            Self::Chaos(Chaos::Server(_)) => "chaos server",
            Self::Chaos(Chaos::Freeze(_)) => "chaos freeze",
            Self::Chaos(Chaos::Partition(_)) => "chaos partition",
            Self::Chaos(Chaos::Promote(_)) => "chaos promote",
            Self::Chaos(Chaos::Statements(_)) => "chaos statements",
            Self::Chaos(Chaos::Overload(_)) => "chaos overload",
            Self::Chaos(Chaos::Neighbours(_)) => "chaos neighbours",
            Self::Soak(_) => "soak",
        }
    }
}
