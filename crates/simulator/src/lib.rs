//! Simulates the AI providers for development and tests: their wire protocols, delays and faults.
//!
//! A credential names an account, and its first use creates it. Jobs change state by the clock,
//! which is the host's clock or a manual one.
//!
//! # The answer rule
//!
//! The *last user text* is the text of the last user message, with its text parts
//! joined by a line feed. For an embedding it is each input. The answer depends on
//! it alone:
//!
//! - chat: `sim:` + the first 16 hex digits of its SHA-256 + a space + its first
//!   200 characters ([`rule::chat_text`]), cut at the first stop sequence and
//!   then to the limit of tokens ([`rule::chat`]);
//! - embedding: 8 numbers, or as many as requested, from its SHA-256
//!   ([`rule::embedding`]);
//! - input tokens: the bytes of all text in the request, divided by 4, rounded up
//!   ([`rule::input_tokens`]); output tokens: the words of the answer
//!   ([`rule::output_tokens`]).
//!
//! Directives in the last user text act on one item ([`rule::Directives`]);
//! faults act on an account ([`SimulatedFault`]). `docs/simulator.md` lists both.
#![expect(
    unreachable_pub,
    reason = "`pub` marks a module's interface; the crate's interface is this file"
)]

mod account;

mod admin;

mod answer;

mod anthropic;

mod bill;

mod cache;

mod call;

mod clock;

mod control;

mod digest;

mod fault;

mod form;

mod gemini;

mod invalid_request;

mod job;

mod json_sample;

mod known_fields;

mod listener;

mod manifest;

mod model_rules;

mod openai;

mod pace;

mod prompt;

mod provider;

mod request;

mod realtime;

mod record;

mod refusal;

mod render;

mod reply;

pub mod rule;

mod schema_rules;

mod signature;

mod realtime_server;

mod router;

mod state;

mod usage;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::Deref;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub use bill::{SimulatedBillLine, SimulatedTier};
pub use clock::{SimulatorTime, host_now};
pub use control::SimulatorControl;
pub use fault::{FaultName, SimulatedFault};
pub use pace::SimulatedPace;
pub use provider::SimulatedProvider;
pub use record::{JobView, RealtimeCall, SimulatedSubmission};

use crate::clock::SimulatorClock;
use crate::state::SimulatorState;

/// The default listens on a free port and uses the host's clock.
#[derive(Debug, Clone)]
pub struct Options {
    pub listen: SocketAddr,
    /// The start of a manual clock. None: the host's clock.
    pub manual_start: Option<SimulatorTime>,
    /// The seed of generated ids. Random by default, so that two simulators never share an id.
    pub seed: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            manual_start: None,
            seed: None,
        }
    }
}

impl Options {
    /// With a manual clock that starts at the host's time.
    pub fn manual() -> Self {
        Self {
            manual_start: Some(host_now()),
            ..Self::default()
        }
    }
}

/// A running simulator, which stops on drop. [`SimulatorControl`] changes and inspects it.
#[derive(Debug)]
pub struct Simulator {
    address: SocketAddr,
    control: SimulatorControl,
    stop: CancellationToken,
    serving: JoinHandle<()>,
}

impl Simulator {
    /// Listens and serves on the current runtime.
    pub async fn start(options: Options) -> io::Result<Self> {
        let listener = TcpListener::bind(options.listen).await?;
        let address = listener.local_addr()?;
        let clock = options
            .manual_start
            .map_or_else(SimulatorClock::host, SimulatorClock::manual);
        let seed = options.seed.unwrap_or_else(rand::random);
        let world = Arc::new(SimulatorState::new(clock, seed));
        let control = SimulatorControl::new(&world);
        let stop = CancellationToken::new();
        let serving = tokio::spawn(listener::serve(listener, world, stop.clone()));
        Ok(Self {
            address,
            control,
            stop,
            serving,
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Replaces the provider's own base URL: `http://127.0.0.1:4100/openai`.
    pub fn base_url(&self, provider: SimulatedProvider) -> String {
        format!("http://{}/{provider}", self.address)
    }

    /// A clonable handle.
    pub fn control(&self) -> SimulatorControl {
        self.control.clone()
    }

    /// Closes every connection and waits for all tasks.
    pub async fn stop(mut self) {
        self.stop.cancel();
        (&mut self.serving).await.ok();
    }
}

impl Deref for Simulator {
    type Target = SimulatorControl;

    fn deref(&self) -> &SimulatorControl {
        &self.control
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
