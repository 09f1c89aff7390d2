//! `trials`: benches and chaos trials, each ending with one line of JSON.

use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _};
use tokio::signal::unix::{SignalKind, signal};
use trials::dev_servers::DevServers;
use trials::harness::{FailureContext as _, Result, TrialFailure, TrialVerdict, report_progress};
use trials::options::{
    BenchCommand, ChaosCommand, CommonOptions, Options, ServersOptions, TrialsVerb, verdict_name,
};
use trials::{bench, chaos, soak};

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    let matches = Options::command().get_matches();
    let options = Options::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    if let TrialsVerb::Servers(servers) = &options.verb {
        return run_servers(&options.common, servers).await;
    }
    // Dropping the trial ends every process that it started.
    let verdict = tokio::select! {
        verdict = run_command(&options.common, &options.verb) => verdict,
        interrupted = wait_for_interrupt() => Err(interrupted),
    };
    let verdict = verdict.unwrap_or_else(|failure| {
        let mut verdict = TrialVerdict::new(verdict_name(&matches));
        verdict
            .check("the trial ran to its end", false)
            .record("error", failure.to_string());
        verdict
    });
    verdict.print();
    if verdict.is_ok() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

async fn run_command(common: &CommonOptions, verb: &TrialsVerb) -> Result<TrialVerdict> {
    match verb {
        TrialsVerb::Bench(command) => Box::pin(run_bench(common, command)).await,
        TrialsVerb::Chaos(command) => Box::pin(run_chaos(common, command)).await,
        TrialsVerb::Soak(options) => soak::run(common, options).await,
        TrialsVerb::Servers(_) => Err(TrialFailure::new("servers are no trial")),
    }
}

async fn run_bench(common: &CommonOptions, command: &BenchCommand) -> Result<TrialVerdict> {
    match command {
        BenchCommand::Load(options) => bench::load::run(common, options).await,
        BenchCommand::Bulk(options) => bench::bulk::run(common, options).await,
        BenchCommand::Journey(options) => bench::journey::run(common, options).await,
        BenchCommand::Gather(options) => bench::gather::run(common, options).await,
        BenchCommand::Batches(options) => bench::batches::run(common, options).await,
        BenchCommand::Videos(options) => bench::videos::run(common, options).await,
        BenchCommand::Routes(options) => Box::pin(bench::routes::run(common, options)).await,
        BenchCommand::Waits(options) => Box::pin(bench::waits::run(common, options)).await,
    }
}

async fn run_chaos(common: &CommonOptions, command: &ChaosCommand) -> Result<TrialVerdict> {
    match command {
        ChaosCommand::Kill(options) => chaos::kill::run(common, options).await,
        ChaosCommand::Connections(options) => chaos::connections::run(common, options).await,
        ChaosCommand::Restart(options) => chaos::restart::run(common, options).await,
        ChaosCommand::Shard(options) => chaos::shard::run(common, options).await,
        ChaosCommand::Limits(options) => chaos::limits::run(common, options).await,
        ChaosCommand::Redis(options) => chaos::redis::run(common, options).await,
        ChaosCommand::Files(options) => chaos::files::run(common, options).await,
        ChaosCommand::Scanner(options) => chaos::scanner::run(common, options).await,
        ChaosCommand::Store(options) => chaos::store::run(common, options).await,
        ChaosCommand::Submit(options) => chaos::submit::run(common, options).await,
        ChaosCommand::Server(options) => chaos::server::run(common, options).await,
        ChaosCommand::Freeze(options) => Box::pin(chaos::freeze::run(common, options)).await,
        ChaosCommand::Partition(options) => Box::pin(chaos::partition::run(common, options)).await,
        ChaosCommand::Promote(options) => chaos::promote::run(common, options).await,
        ChaosCommand::Restore(options) => Box::pin(chaos::restore::run(common, options)).await,
        ChaosCommand::Failover(options) => Box::pin(chaos::failover::run(common, options)).await,
        ChaosCommand::Statements(options) => chaos::statements::run(common, options).await,
        ChaosCommand::Overload(options) => chaos::overload::run(common, options).await,
        ChaosCommand::Neighbours(options) => chaos::neighbours::run(common, options).await,
        ChaosCommand::Idle(options) => chaos::idle::run(common, options).await,
        ChaosCommand::Cancel(options) => Box::pin(chaos::cancel::run(common, options)).await,
        ChaosCommand::Markers(options) => chaos::markers::run(common, options).await,
        ChaosCommand::Alerts(options) => Box::pin(chaos::alerts::run(common, options)).await,
        ChaosCommand::Run(options) => Box::pin(chaos::run::run(common, options)).await,
        ChaosCommand::Upgrade(options) => Box::pin(chaos::upgrade::run(common, options)).await,
        ChaosCommand::Listen(options) => Box::pin(chaos::listen::run(common, options)).await,
    }
}

/// Servers run until a signal arrives.
async fn run_servers(common: &CommonOptions, options: &ServersOptions) -> ExitCode {
    let serving = async {
        let servers = DevServers::start(common, options).await?;
        servers.write_env_file(&options.env)?;
        std::future::pending::<Result<()>>().await
    };
    tokio::select! {
        ended = serving => {
            let failure = ended.err().map(|failure| failure.to_string());
            report_progress(failure.unwrap_or_default());
            ExitCode::FAILURE
        }
        _ = wait_for_interrupt() => ExitCode::SUCCESS,
    }
}

async fn wait_for_interrupt() -> TrialFailure {
    match wait_for_signal().await {
        Ok(name) => TrialFailure::new(format!("interrupted by {name}")),
        Err(failure) => failure,
    }
}

async fn wait_for_signal() -> Result<&'static str> {
    let mut interrupt = signal(SignalKind::interrupt()).context("listening for signals")?;
    let mut terminate = signal(SignalKind::terminate()).context("listening for signals")?;
    let mut hangup = signal(SignalKind::hangup()).context("listening for signals")?;
    Ok(tokio::select! {
        _ = interrupt.recv() => "SIGINT",
        _ = terminate.recv() => "SIGTERM",
        _ = hangup.recv() => "SIGHUP",
    })
}
