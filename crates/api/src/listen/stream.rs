//! The stream of one listener, as server-sent events.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, KeepAliveStream, Sse};
use domain::callback_signature::{CallbackSigner, SigningSecret};
use futures::stream::{self, Stream};
use serde::Serialize;
use store::Shard;
use store::shard::handover::TakenHandover;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use wire::group::GroupCallbackBody;
use wire::listen::{ListenerCallbackEvent, ListenerReadyEvent};

use crate::key_recheck::KeyRecheck;
use crate::listener_hub::ListenerChannel;
use crate::waiters::WaitPermit;

/// Below the idle timeout of most proxies.
const COMMENT_INTERVAL: Duration = Duration::from_secs(15);
/// Then the listener connects again, perhaps to another server.
const MAX_STREAM_DURATION: Duration = Duration::from_hours(1);
/// As long as a deactivated key may keep working elsewhere: the caches follow control that fast.
const KEY_CHECK_INTERVAL: Duration = Duration::from_secs(1);
const SIGNATURE_HEADER: &str = "webhook-signature";

#[derive(Debug)]
pub(super) struct ListenerStream {
    listener: ListenerChannel,
    shard: Arc<Shard>,
    /// Signs callbacks that the project's secrets have not signed.
    signer: CallbackSigner,
    ready: Option<ListenerReadyEvent>,
    /// The last event was sent.
    is_over: bool,
    guards: StreamGuards,
    ends_at: Instant,
}

/// What ends a stream, and what it occupies.
#[derive(Debug)]
pub(super) struct StreamGuards {
    pub(super) key: KeyRecheck,
    /// Cancelled when the process stops.
    pub(super) stop: CancellationToken,
    pub(super) _permit: WaitPermit,
}

impl ListenerStream {
    pub(super) fn new(
        listener: ListenerChannel,
        shard: &Arc<Shard>,
        secret: SigningSecret,
        guards: StreamGuards,
    ) -> Self {
        let ready = ListenerReadyEvent {
            listener_id: listener.id.to_string(),
            secret: secret.reveal(),
        };
        Self {
            listener,
            shard: Arc::clone(shard),
            signer: CallbackSigner::with_secret(secret),
            ready: Some(ready),
            is_over: false,
            guards,
            ends_at: Instant::now() + MAX_STREAM_DURATION,
        }
    }

    pub(super) fn into_sse(
        self,
    ) -> Sse<KeepAliveStream<impl Stream<Item = Result<Event, Infallible>> + Send + 'static>> {
        let events = stream::unfold(self, |mut stream| async move {
            let event = stream.next_event().await?;
            Some((Ok::<_, Infallible>(event), stream))
        });
        Sse::new(events).keep_alive(KeepAlive::new().interval(COMMENT_INTERVAL))
    }

    /// None ends the stream.
    async fn next_event(&mut self) -> Option<Event> {
        if let Some(ready) = self.ready.take() {
            return json_event("ready", &ready);
        }
        if self.is_over {
            return None;
        }
        loop {
            let callback = tokio::select! {
                biased;
                () = self.guards.stop.cancelled() => return None,
                () = self.listener.replaced.cancelled() => {
                    self.is_over = true;
                    return Some(Event::default().event("replaced").data("{}"));
                }
                () = sleep_until(self.ends_at) => return None,
                callback = self.listener.callbacks.recv() => Some(callback?),
                () = sleep(KEY_CHECK_INTERVAL) => None,
            };
            // Also before each event. A callback that is not sent is retried by its schedule.
            if self.guards.key.check().await.is_err() {
                return None;
            }
            if let Some(callback) = callback {
                return json_event("callback", &self.callback_event(callback));
            }
        }
    }

    fn callback_event(&self, callback: TakenHandover) -> ListenerCallbackEvent {
        let names = callback.headers.names.into_iter();
        let mut headers: BTreeMap<String, String> = names.zip(callback.headers.values).collect();
        if !headers.contains_key(SIGNATURE_HEADER) {
            let now = self.shard.clock.now();
            let (id, body) = (callback.cargo, &callback.body);
            let signature = if GroupCallbackBody::is_group_body(body) {
                self.signer.sign_for_group(id.uuid().into(), now, body)
            } else {
                self.signer.sign(id, now, body)
            };
            let pairs = signature.pairs().into_iter();
            headers.extend(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())));
        }
        ListenerCallbackEvent {
            delivery_id: callback.id.to_string(),
            number: callback.number,
            headers,
            // JSON is always UTF-8.
            body: String::from_utf8(callback.body).unwrap_or_default(),
        }
    }
}

/// None only if the data were no JSON, which it always is.
fn json_event(name: &str, data: &impl Serialize) -> Option<Event> {
    Event::default().event(name).json_data(data).ok()
}
