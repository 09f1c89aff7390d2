//! What the operator's signals mean: stop, stop at once, read files again.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// The exit code of a process that was told to stop twice.
const INTERRUPTED: i32 = 130;

struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

/// Cancelled by the first SIGTERM or SIGINT; a second one ends the process at once.
///
/// SIGHUP reads again what a running process can take up.
pub fn watch(reload: impl Fn() + Send + Sync + 'static) -> io::Result<CancellationToken> {
    let signals = Signals {
        terminate: signal(SignalKind::terminate())?,
        interrupt: signal(SignalKind::interrupt())?,
        hangup: signal(SignalKind::hangup())?,
    };
    let stop = CancellationToken::new();
    tokio::spawn(follow(signals, reload, stop.clone()));
    Ok(stop)
}

async fn follow(mut signals: Signals, reload: impl Fn(), stop: CancellationToken) {
    loop {
        tokio::select! {
            _ = signals.terminate.recv() => told(&stop),
            _ = signals.interrupt.recv() => told(&stop),
            _ = signals.hangup.recv() => reload(),
        }
    }
}

fn told(stop: &CancellationToken) {
    if stop.is_cancelled() {
        tracing::warn!("told to stop twice: work in flight is left to other nodes");
        end();
    }
    tracing::info!("told to stop");
    stop.cancel();
}

#[expect(clippy::exit, reason = "the second signal asks for just that")]
fn end() -> ! {
    std::process::exit(INTERRUPTED)
}
