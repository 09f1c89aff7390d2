//! Operating-system signals: stop, stop at once, reload files.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Exit code after a second stop signal.
const INTERRUPTED_EXIT_CODE: i32 = 130;

struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

/// The token is cancelled by the first SIGTERM or SIGINT; a second one ends the process at once.
///
/// SIGHUP calls `reload`.
pub fn watch(reload: impl Fn() + Send + Sync + 'static) -> io::Result<CancellationToken> {
    let signals = Signals {
        terminate: signal(SignalKind::terminate())?,
        interrupt: signal(SignalKind::interrupt())?,
        hangup: signal(SignalKind::hangup())?,
    };
    let stop = CancellationToken::new();
    tokio::spawn(handle_signals(signals, reload, stop.clone()));
    Ok(stop)
}

async fn handle_signals(mut signals: Signals, reload: impl Fn(), stop: CancellationToken) {
    loop {
        tokio::select! {
            _ = signals.terminate.recv() => request_stop(&stop),
            _ = signals.interrupt.recv() => request_stop(&stop),
            _ = signals.hangup.recv() => reload(),
        }
    }
}

fn request_stop(stop: &CancellationToken) {
    if stop.is_cancelled() {
        tracing::warn!("second stop signal: exiting at once; other nodes take over work in flight");
        exit_now();
    }
    tracing::info!("stop signal received: shutting down");
    stop.cancel();
}

#[expect(clippy::exit, reason = "a second stop signal ends the process at once")]
fn exit_now() -> ! {
    std::process::exit(INTERRUPTED_EXIT_CODE)
}
