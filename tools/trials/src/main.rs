//! `trials`: benches and chaos, each ending with one line of JSON.

use std::process::ExitCode;

use clap::Parser as _;
use tokio::signal::unix::{SignalKind, signal};
use trials::failure::{During as _, Failure, Result};
use trials::options::{Bench, Chaos, Common, Options, Verb};
use trials::verdict::Verdict;
use trials::{bench, chaos, soak};

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    let options = Options::parse();
    // Dropping the trial half-way ends every process that it started.
    let verdict = tokio::select! {
        verdict = tried(&options.common, &options.verb) => verdict,
        interrupted = interrupted() => Err(interrupted),
    };
    let verdict = verdict.unwrap_or_else(|failure| {
        let mut verdict = Verdict::new(options.verb.name());
        verdict
            .promise("carried out", false)
            .note("error", failure.to_string());
        verdict
    });
    verdict.print();
    if verdict.is_ok() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

async fn tried(common: &Common, verb: &Verb) -> Result<Verdict> {
    match verb {
        Verb::Bench(Bench::Load(options)) => bench::load::run(common, options).await,
        Verb::Bench(Bench::Journey(options)) => bench::journey::run(common, options).await,
        Verb::Bench(Bench::Gather(options)) => bench::gather::run(common, options).await,
        Verb::Bench(Bench::Batches(options)) => bench::batches::run(common, options).await,
        Verb::Bench(Bench::Videos(options)) => bench::videos::run(common, options).await,
        Verb::Chaos(Chaos::Kill(options)) => chaos::kill::run(common, options).await,
        Verb::Chaos(Chaos::Connections(options)) => chaos::connections::run(common, options).await,
        Verb::Chaos(Chaos::Restart(options)) => chaos::restart::run(common, options).await,
        Verb::Chaos(Chaos::Shard(options)) => chaos::shard::run(common, options).await,
        Verb::Chaos(Chaos::Limits(options)) => chaos::limits::run(common, options).await,
        Verb::Chaos(Chaos::Redis(options)) => chaos::redis::run(common, options).await,
        Verb::Chaos(Chaos::Files(options)) => chaos::files::run(common, options).await,
        Verb::Chaos(Chaos::Scanner(options)) => chaos::scanner::run(common, options).await,
        Verb::Chaos(Chaos::Store(options)) => chaos::store::run(common, options).await,
        Verb::Chaos(Chaos::Submit(options)) => chaos::submit::run(common, options).await,
        Verb::Chaos(Chaos::Server(options)) => chaos::server::run(common, options).await,
        Verb::Chaos(Chaos::Freeze(options)) => Box::pin(chaos::freeze::run(common, options)).await,
        Verb::Chaos(Chaos::Partition(options)) => {
            Box::pin(chaos::partition::run(common, options)).await
        }
        Verb::Chaos(Chaos::Promote(options)) => chaos::promote::run(common, options).await,
        Verb::Chaos(Chaos::Statements(options)) => chaos::statements::run(common, options).await,
        Verb::Chaos(Chaos::Overload(options)) => chaos::overload::run(common, options).await,
        Verb::Chaos(Chaos::Neighbours(options)) => chaos::neighbours::run(common, options).await,
        Verb::Soak(options) => soak::run(common, options).await,
    }
}

async fn interrupted() -> Failure {
    match signals().await {
        Ok(name) => Failure::new(format!("interrupted by {name}")),
        Err(failure) => failure,
    }
}

async fn signals() -> Result<&'static str> {
    let mut interrupt = signal(SignalKind::interrupt()).during("listening for signals")?;
    let mut terminate = signal(SignalKind::terminate()).during("listening for signals")?;
    let mut hangup = signal(SignalKind::hangup()).during("listening for signals")?;
    Ok(tokio::select! {
        _ = interrupt.recv() => "SIGINT",
        _ = terminate.recv() => "SIGTERM",
        _ = hangup.recv() => "SIGHUP",
    })
}
