//! Stands in for the AI providers in development and tests: their wire protocols, their delays and their faults.
//!
//! A credential names an account; its first use makes it. Jobs go through their
//! states by the clock, which is the host's or stands still until it is moved.
//!
//! # The rule of answers
//!
//! The *last user text* is the text of the last message from the user, its text
//! parts joined by a line feed; for an embedding, each input. An answer follows
//! from it alone:
//!
//! - chat: `sim:` + the first 16 hex digits of its SHA-256 + a space + its first
//!   200 characters ([`rule::chat_text`]), cut at the first stop sequence and
//!   then to the limit of tokens ([`rule::chat`]);
//! - embedding: 8 numbers, or as many as were asked for, from its SHA-256
//!   ([`rule::embedding`]);
//! - input tokens: the bytes of all text in the request, divided by 4, rounded up
//!   ([`rule::input_tokens`]); output tokens: the words of the answer
//!   ([`rule::output_tokens`]).
//!
//! Directives in the last user text act on one item ([`rule::Directives`]);
//! faults act on an account ([`Fault`]). `docs/simulator.md` lists both.
#![expect(
    unreachable_pub,
    reason = "`pub` says what a module offers; the front door is this file"
)]

mod account;

mod admin;

mod answer;

mod anthropic;

mod call;

mod clock;

mod control;

mod fault;

mod form;

mod gemini;

mod job;

mod listen;

mod manifest;

mod openai;

mod pace;

mod provider;

mod question;

mod realtime;

mod record;

mod refusal;

mod render;

mod reply;

pub mod rule;

mod server;

mod surface;

mod world;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::Deref;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub use clock::{Moment, host_now};
pub use control::Control;
pub use fault::{Fault, Name as FaultName};
pub use pace::Pace;
pub use provider::Provider;
pub use record::{JobView, RealtimeCall, Submission};

use crate::clock::Clock;
use crate::world::World;

/// How a simulator is started; the default listens on a free port and goes with the host's clock.
#[derive(Debug, Clone)]
pub struct Options {
    pub listen: SocketAddr,
    /// Where a clock that stands still stands; none goes with the host.
    pub held_at: Option<Moment>,
    /// What ids are made from; drawn if not given, so that no two simulators share an id.
    pub seed: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            held_at: None,
            seed: None,
        }
    }
}

impl Options {
    /// With a clock that stands at the host's time until it is moved.
    pub fn manual() -> Self {
        Self {
            held_at: Some(host_now()),
            ..Self::default()
        }
    }
}

/// A running simulator. It stops when it is dropped; see [`Control`] for what can be done to it.
#[derive(Debug)]
pub struct Simulator {
    address: SocketAddr,
    control: Control,
    stop: CancellationToken,
    serving: JoinHandle<()>,
}

impl Simulator {
    /// Listens, and serves on the runtime that this is called on.
    pub async fn start(options: Options) -> io::Result<Self> {
        let listener = TcpListener::bind(options.listen).await?;
        let address = listener.local_addr()?;
        let clock = options.held_at.map_or_else(Clock::host, Clock::held);
        let seed = options.seed.unwrap_or_else(rand::random);
        let world = Arc::new(World::new(clock, seed));
        let control = Control::of(&world);
        let stop = CancellationToken::new();
        let serving = tokio::spawn(listen::serve(listener, world, stop.clone()));
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

    /// What stands in place of the provider's own host: `http://127.0.0.1:4100/openai`.
    pub fn base_url(&self, provider: Provider) -> String {
        format!("http://{}/{provider}", self.address)
    }

    /// A handle that can be given away.
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// Closes every connection, and waits until all is over.
    pub async fn stop(mut self) {
        self.stop.cancel();
        (&mut self.serving).await.ok();
    }
}

impl Deref for Simulator {
    type Target = Control;

    fn deref(&self) -> &Control {
        &self.control
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
