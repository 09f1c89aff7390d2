//! The `simulator` program: prints its addresses and serves until SIGINT or SIGTERM.

use std::io::{self, Write as _};
use std::net::SocketAddr;

use clap::Parser;
use simulator::{Options, SimulatedProvider, Simulator};

/// Simulates AI providers: see docs/simulator.md.
#[derive(Debug, Parser)]
#[command(name = "simulator", version)]
struct Arguments {
    /// The address to listen on. Port 0 picks a free port.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Use a manual clock, which only PUT /admin/clock moves.
    #[arg(long)]
    manual_clock: bool,
    /// The seed of generated ids. Two runs with one seed give the same ids.
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
    print_addresses(&simulator)?;
    wait_for_stop().await?;
    simulator.stop().await;
    Ok(())
}

fn print_addresses(simulator: &Simulator) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for provider in SimulatedProvider::ALL {
        let name = provider.name();
        writeln!(out, "{name:<10}{}", simulator.base_url(provider))?;
    }
    for dialect in ["azure", "groq"] {
        writeln!(out, "{dialect:<10}http://{}/{dialect}", simulator.address())?;
    }
    writeln!(out, "{:<10}http://{}/admin", "admin", simulator.address())?;
    out.flush()
}

async fn wait_for_stop() -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminated = signal(SignalKind::terminate())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted,
        _ = terminated.recv() => Ok(()),
    }
}
