//! Options of the trials that interrupt, slow down or overload.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

#[derive(Debug, Clone, Args)]
pub struct InterruptionOptions {
    /// How often a process is interrupted.
    #[arg(long, default_value_t = 10)]
    pub rounds: usize,
    /// The shortest interruption.
    #[arg(long, default_value_t = 5)]
    pub least_seconds: u64,
    /// The longest interruption.
    #[arg(long, default_value_t = 60)]
    pub most_seconds: u64,
    /// Loads a second.
    #[arg(long, default_value_t = 200)]
    pub rate: u32,
}

impl InterruptionOptions {
    /// How long the next interruption lasts.
    pub fn length(&self) -> Duration {
        let most = self.most_seconds.max(self.least_seconds);
        let range = self.least_seconds * 1000..=most * 1000;
        Duration::from_millis(rand::random_range(range))
    }
}

#[derive(Debug, Clone, Args)]
pub struct PromoteOptions {
    /// How many primaries die.
    #[arg(long, default_value_t = 10)]
    pub rounds: usize,
    /// Loads a second.
    #[arg(long, default_value_t = 200)]
    pub rate: u32,
    /// How the service finds the primary.
    #[arg(long, value_enum, default_value_t = Hosts::Relay)]
    pub hosts: Hosts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Hosts {
    /// A relay of the trial follows it.
    Relay,
    /// The database's URL lists both servers.
    List,
}

impl Hosts {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Relay => "relay",
            Self::List => "list",
        }
    }
}

#[derive(Debug, Clone, Args)]
pub struct SoakOptions {
    /// No trial begins after this time.
    #[arg(long, default_value_t = 30)]
    pub minutes: u64,
    /// Chooses the order of the trials and their arguments; drawn if not given.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Only trials with this text in their arguments.
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,
    /// A `longshored` with the feature chaos, for `chaos submit`; without it that trial is left out.
    #[arg(long, value_name = "PATH")]
    pub chaos_build: Option<PathBuf>,
    /// Where all verdicts and the logs of failed trials are kept.
    #[arg(long, value_name = "FOLDER", default_value = "target/soak")]
    pub keep: PathBuf,
}

#[derive(Debug, Clone, Args)]
pub struct NeighboursOptions {
    /// Only this part; can be given several times.
    #[arg(long, value_enum)]
    pub part: Vec<NeighbourPart>,
    /// Smaller and shorter, for CI.
    #[arg(long)]
    pub small: bool,
    /// In part connections, how many files `serve` may have open; as many as we may unless told, 1,024 with
    /// `--small`.
    #[arg(long, value_name = "COUNT")]
    pub open_files: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum NeighbourPart {
    /// Accounts that accept connections and never answer.
    Provider,
    /// A flood of one organization that is already gathered.
    Flood,
    /// Callback receivers that hang, drip or refuse.
    Receivers,
    /// Text that is expensive to parse.
    Poison,
    /// Loads that are large when they are unpacked.
    Memory,
    /// Requests that never come to their end.
    Connections,
}

impl NeighbourPart {
    pub const ALL: [Self; 6] = [
        Self::Provider,
        Self::Flood,
        Self::Receivers,
        Self::Poison,
        Self::Memory,
        Self::Connections,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Provider => "provider",
            Self::Flood => "flood",
            Self::Receivers => "receivers",
            Self::Poison => "poison",
            Self::Memory => "memory",
            Self::Connections => "connections",
        }
    }
}

impl NeighboursOptions {
    /// One of two sizes.
    pub const fn size<T: Copy>(&self, full: T, small: T) -> T {
        if self.small { small } else { full }
    }
}

#[derive(Debug, Clone, Args)]
pub struct StatementsOptions {
    /// How long statements are hit.
    #[arg(long, default_value_t = 120)]
    pub seconds: u64,
    /// Loads a second.
    #[arg(long, default_value_t = 50)]
    pub rate: u32,
    /// Of a hundred statements so many are hit.
    #[arg(long, default_value_t = 10)]
    pub percent: u32,
    /// The same seed draws the same faults for each connection; drawn at random unless given.
    #[arg(long)]
    pub seed: Option<u64>,
}

#[derive(Debug, Clone, Args)]
pub struct OverloadOptions {
    /// How long each fault lasts.
    #[arg(long, default_value_t = 60)]
    pub seconds: u64,
    /// What `serve` may send to the database in a second, in the parts load and distance:
    /// the bottleneck. 0 is as much as it can.
    #[arg(long, default_value_t = 200_000)]
    pub database_bytes_per_second: u64,
    /// Only these parts; may be given several times.
    #[arg(long = "part", value_enum)]
    pub parts: Vec<OverloadPart>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OverloadPart {
    /// Five times the load that the service sustains.
    Load,
    /// The same, with the database 200 ms further away.
    Distance,
    /// Processes whose clocks are ten minutes off, ahead and behind.
    Clocks,
    /// The disk of the database is full, and freed.
    Disk,
}
