//! Options of trials that interrupt, slow down or overload the service.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

#[derive(Debug, Clone, Args)]
pub struct ChaosInterruptionOptions {
    /// How often a process is interrupted.
    #[arg(long, default_value_t = 10)]
    pub rounds: usize,
    /// The shortest interruption, in seconds.
    #[arg(long, default_value_t = 5)]
    pub least_seconds: u64,
    /// The longest interruption, in seconds.
    #[arg(long, default_value_t = 60)]
    pub most_seconds: u64,
    /// Loads per second.
    #[arg(long, default_value_t = 200)]
    pub rate: u32,
}

impl ChaosInterruptionOptions {
    /// Draws the length of the next interruption.
    pub fn draw_length(&self) -> Duration {
        let most = self.most_seconds.max(self.least_seconds);
        let range = self.least_seconds * 1000..=most * 1000;
        Duration::from_millis(rand::random_range(range))
    }
}

#[derive(Debug, Clone, Args)]
pub struct ChaosCancelOptions {
    /// Cargo in the group.
    #[arg(
        long,
        default_value_t = 50_000,
        default_value_if("small", "true", "600")
    )]
    pub cargo: usize,
    /// How many of them are also cancelled one by one.
    #[arg(long, default_value_t = 500, default_value_if("small", "true", "40"))]
    pub single: usize,
    /// Run for seconds, and judge no figures: for CI.
    #[arg(long)]
    pub small: bool,
}

#[derive(Debug, Clone, Args)]
pub struct ChaosUpgradeOptions {
    /// Cargo that is stored before the upgrade.
    #[arg(
        long,
        default_value_t = 5_000_000,
        default_value_if("small", "true", "20000")
    )]
    pub cargo: u64,
    /// Loads per second.
    #[arg(long, default_value_t = 200, default_value_if("small", "true", "20"))]
    pub rate: u32,
    /// How long each part of the upgrade lasts, in seconds.
    #[arg(long, default_value_t = 30, default_value_if("small", "true", "1"))]
    pub seconds: u64,
    /// The version before, for the verdict.
    #[arg(long, value_name = "COMMIT", requires = "before_program")]
    pub before: Option<String>,
    /// The `longshored` of the version before; without it, this build takes both sides.
    #[arg(long, value_name = "PATH", requires = "before")]
    pub before_program: Option<PathBuf>,
    /// Run for seconds, and judge no figures: for CI.
    #[arg(long)]
    pub small: bool,
}

#[derive(Debug, Clone, Args)]
pub struct ChaosPromoteOptions {
    /// How many primaries are killed.
    #[arg(long, default_value_t = 10)]
    pub rounds: usize,
    /// Loads per second.
    #[arg(long, default_value_t = 200)]
    pub rate: u32,
    /// How the service finds the primary.
    #[arg(long, value_enum, default_value_t = PrimaryDiscovery::Relay)]
    pub hosts: PrimaryDiscovery,
}

#[derive(Debug, Clone, Args)]
pub struct ChaosRestoreOptions {
    /// How often work of every kind is loaded in each half.
    #[arg(long, default_value_t = 40, default_value_if("small", "true", "4"))]
    pub rounds: usize,
    /// Run for seconds: for CI.
    #[arg(long)]
    pub small: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PrimaryDiscovery {
    /// A relay of the trial follows the primary.
    Relay,
    /// The database's URL lists both servers.
    List,
}

#[derive(Debug, Clone, Args)]
pub struct ChaosFailoverOptions {
    /// How many primaries are lost; the faults come in turn.
    #[arg(
        long,
        default_value_t = 6,
        default_value_if("asynchronous", "true", "1")
    )]
    pub rounds: usize,
    /// Loads per second.
    #[arg(long, default_value_t = 200)]
    pub rate: u32,
    /// Only this fault; can be given several times. All by default, and with `--asynchronous` kill.
    #[arg(long = "fault", value_enum)]
    pub faults: Vec<PrimaryFault>,
    /// Seconds after which Patroni takes the role from a primary that is not heard of.
    #[arg(long, default_value_t = 20)]
    pub ttl: u32,
    /// Commits wait for no standby: acknowledged cargo may be lost, and is counted.
    #[arg(long)]
    pub asynchronous: bool,
}

impl ChaosFailoverOptions {
    pub fn faults_in_turn(&self) -> Vec<PrimaryFault> {
        let all = match (self.faults.as_slice(), self.asynchronous) {
            ([], false) => PrimaryFault::value_variants(),
            ([], true) => &[PrimaryFault::Kill],
            (some, _) => some,
        };
        all.iter().copied().cycle().take(self.rounds).collect()
    }
}

/// What happens to the server of the primary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PrimaryFault {
    /// SIGKILL to Patroni and to every process of PostgreSQL.
    Kill,
    /// SIGSTOP to the same, and later SIGCONT.
    Freeze,
    /// No byte passes between it and etcd, its peers and its clients.
    CutOff,
}

impl PrimaryFault {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Freeze => "freeze",
            Self::CutOff => "cut-off",
        }
    }
}

#[derive(Debug, Clone, Args)]
pub struct SoakOptions {
    /// No trial starts after this time.
    #[arg(long, default_value_t = 30)]
    pub minutes: u64,
    /// Run freeze, partition, promote, failover, statements, overload and neighbours in full size, at the
    /// beginning of each round.
    #[arg(long)]
    pub full: bool,
    /// The seed of the order and the arguments of trials; random by default.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Run only trials with this text in their arguments.
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,
    /// A `longshored` with the feature chaos, for `chaos submit`; without it that trial is
    /// skipped.
    #[arg(long, value_name = "PATH")]
    pub chaos_build: Option<PathBuf>,
    /// The folder for all verdicts and the logs of failed trials.
    #[arg(long, value_name = "FOLDER", default_value = "target/soak")]
    pub keep: PathBuf,
}

#[derive(Debug, Clone, Args)]
pub struct ChaosNeighboursOptions {
    /// Run only this part; can be given several times.
    #[arg(long, value_enum)]
    pub part: Vec<NeighbourPart>,
    /// Smaller and shorter, for CI; the debug build then judges no figures.
    #[arg(long)]
    pub small: bool,
    /// The limit of open files of `serve` in part connections; by default the limit of the
    /// trial, or 1,024 with `--small`.
    #[arg(long, value_name = "COUNT")]
    pub open_files: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum NeighbourPart {
    /// Accounts that accept connections and never answer.
    Provider,
    /// One organization's flood that is already gathered.
    Flood,
    /// Callback receivers that hang, drip or refuse.
    Receivers,
    /// Text that is expensive to parse.
    Poison,
    /// Loads that are large when they are decompressed.
    Memory,
    /// Requests that never end.
    Connections,
}

impl ChaosNeighboursOptions {
    /// The full or the small size.
    pub const fn choose_size<T: Copy>(&self, full: T, small: T) -> T {
        if self.small { small } else { full }
    }
}

#[derive(Debug, Clone, Args)]
pub struct ChaosStatementsOptions {
    /// Seconds of fault injection.
    #[arg(long, default_value_t = 120)]
    pub seconds: u64,
    /// Loads per second.
    #[arg(long, default_value_t = 50)]
    pub rate: u32,
    /// Percent of statements with a fault.
    #[arg(long, default_value_t = 10)]
    pub percent: u32,
    /// The same seed draws the same faults for each connection; random by default.
    #[arg(long)]
    pub seed: Option<u64>,
}

#[derive(Debug, Clone, Args)]
pub struct ChaosOverloadOptions {
    /// Seconds of each fault.
    #[arg(long, default_value_t = 60, default_value_if("small", "true", "3"))]
    pub seconds: u64,
    /// Bytes per second from `serve` to the database in the parts load and distance: the
    /// bottleneck. 0 means no limit.
    #[arg(long, default_value_t = 200_000)]
    pub database_bytes_per_second: u64,
    /// Run only this part; can be given several times.
    #[arg(long = "part", value_enum)]
    pub parts: Vec<OverloadPart>,
    /// Run for seconds, and judge no figures: for CI.
    #[arg(long)]
    pub small: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OverloadPart {
    /// Five times the load that the service sustains.
    Load,
    /// The same, with 200 ms more latency to the database.
    Distance,
    /// Processes whose clocks are ten minutes ahead or behind.
    Clocks,
    /// The database's disk is full, and then freed.
    Disk,
}

#[derive(Debug, Clone, Args)]
pub struct ChaosIdleOptions {
    /// Connections without a key that are held at once; in the part proxy, the trial needs three
    /// open files for each.
    #[arg(long, default_value_t = 5000, default_value_if("small", "true", "500"))]
    pub connections: usize,
    /// Seconds that they are held in each round; the usual figures are measured for half as long.
    #[arg(long, default_value_t = 80, default_value_if("small", "true", "6"))]
    pub seconds: u64,
    /// Rounds of each part: loads without these connections, then with them.
    #[arg(long, default_value_t = 2, default_value_if("small", "true", "1"))]
    pub rounds: u32,
    /// Loads per second.
    #[arg(long, default_value_t = 50, default_value_if("small", "true", "20"))]
    pub rate: u32,
    /// Run only this part; can be given several times.
    #[arg(long = "part", value_enum)]
    pub parts: Vec<IdlePart>,
    /// Few connections for seconds, and judge no figures: for CI.
    #[arg(long)]
    pub small: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum IdlePart {
    /// All clients connect to the service.
    Direct,
    /// All clients connect to a proxy that the service trusts.
    Proxy,
    /// The service allows half as many connections.
    Limit,
}

#[derive(Debug, Clone, Args)]
pub struct ChaosMarkersOptions {
    /// Cargo with markers, of 20 kB each. Their job has to be larger than what a worker keeps in
    /// memory.
    #[arg(long, default_value_t = 400, default_value_if("small", "true", "40"))]
    pub cargo: usize,
    /// Little cargo: for CI.
    #[arg(long)]
    pub small: bool,
}

#[derive(Debug, Clone, Args)]
pub struct ChaosAlertsOptions {
    /// Loads per second.
    #[arg(long, default_value_t = 12)]
    pub rate: u32,
    /// The script that writes the rules and the dashboards.
    #[arg(
        long,
        value_name = "PATH",
        default_value = "tools/monitoring/monitoring.py"
    )]
    pub rules: PathBuf,
    /// Only the dashboards and the alerts that fire within seconds: for CI.
    #[arg(long)]
    pub small: bool,
}

#[derive(Debug, Clone, Args)]
pub struct ChaosRunOptions {
    /// Lines of the file.
    #[arg(
        long,
        default_value_t = 100_000,
        default_value_if("small", "true", "3000")
    )]
    pub lines: u64,
    /// A short file: for CI.
    #[arg(long)]
    pub small: bool,
    /// A Python with what the client needs: then the same file goes through its `map`, too.
    #[arg(long, value_name = "PATH")]
    pub python: Option<PathBuf>,
    /// The client, and the script that calls it.
    #[arg(long, value_name = "PATH", default_value = "clients/python/src")]
    pub library: PathBuf,
    #[arg(
        long,
        value_name = "PATH",
        default_value = "clients/scenarios/map_file.py"
    )]
    pub script: PathBuf,
}

#[derive(Debug, Clone, Args)]
pub struct ChaosListenOptions {
    /// Callbacks after the retry.
    #[arg(long, default_value_t = 20)]
    pub cargo: u64,
}
