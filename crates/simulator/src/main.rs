//! `simulator`, the program: says where it listens, and serves until it is told to stop.

use std::io::{self, Write as _};
use std::net::SocketAddr;

use clap::Parser;
use simulator::{Options, Provider, Simulator};

/// Stands in for AI providers: see docs/simulator.md.
#[derive(Debug, Parser)]
#[command(name = "simulator", version)]
struct Arguments {
    /// The address to listen on; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// The clock stands still until PUT /admin/clock moves it.
    #[arg(long)]
    manual_clock: bool,
    /// What ids are made from, so that two runs give the same ones.
    #[arg(long)]
    seed: Option<u64>,
}

#[tokio::main]
async fn main() -> io::Result<()> {
    let arguments = Arguments::parse();
    let options = if arguments.manual_clock {
        Options::manual()
    } else {
        Options::default()
    };
    let simulator = Simulator::start(Options {
        listen: arguments.listen,
        seed: arguments.seed,
        ..options
    })
    .await?;
    announce(&simulator)?;
    stopped().await?;
    simulator.stop().await;
    Ok(())
}

fn announce(simulator: &Simulator) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for provider in Provider::ALL {
        let name = provider.name();
        writeln!(out, "{name:<10}{}", simulator.base_url(provider))?;
    }
    writeln!(out, "{:<10}http://{}/admin", "admin", simulator.address())?;
    out.flush()
}

async fn stopped() -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminated = signal(SignalKind::terminate())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted,
        _ = terminated.recv() => Ok(()),
    }
}
