//! Makes the POSTs and collects their results.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::callback_signature::{CallbackSigner, SignatureHeaders};
use domain::callback_url::listener_of;
use domain::cargo_spans::delivery_context;
use domain::host_pace::HostAnswer;
use domain::id::{CargoId, GroupId, ProjectId};
use domain::time::Timestamp;
use domain::trace_context::TraceContext;
use outbound::callback::{CallbackAttempt, CallbackClient};
use store::shard::delivery::{ClaimedDelivery, Destination};
use store::shard::node::Claim;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::listen_tunnel::{ListenTunnel, TunnelCallback};
use crate::callback_slots::PendingCallback;
use crate::stage::Wakeup;

const TUNNEL_OFF: &str = "not sent: the operator has switched the listen tunnel off; load again with an https callback_url";

/// A callback attempt that has ended.
#[derive(Debug)]
pub(super) struct FinishedCallback {
    /// The id of the delivery.
    pub(super) cargo: CargoId,
    /// The group whose callback it is. None: it is that of a cargo.
    pub(super) group: Option<GroupId>,
    /// None if its row was not read.
    pub(super) project: Option<ProjectId>,
    pub(super) destination: Destination,
    pub(super) number: u32,
    pub(super) is_resend: bool,
    pub(super) claim: Claim,
    pub(super) bytes: usize,
    pub(super) started_at: Timestamp,
    pub(super) end: AttemptEnd,
    /// The span of the load, if the cargo is traced.
    pub(super) trace: Option<TraceContext>,
}

#[derive(Debug)]
pub(super) enum AttemptEnd {
    Posted(CallbackAttempt),
    /// No POST was made, for this reason.
    NotSent(&'static str),
    /// The lease was lost: another worker makes this attempt.
    LeaseLost,
}

impl FinishedCallback {
    pub(super) fn new(callback: PendingCallback, end: AttemptEnd, started_at: Timestamp) -> Self {
        Self {
            cargo: callback.cargo,
            group: callback.group,
            project: Some(callback.project),
            destination: callback.destination,
            number: callback.number,
            is_resend: callback.is_resend,
            claim: callback.claim,
            bytes: callback.bytes,
            started_at,
            end,
            trace: callback.trace,
        }
    }

    pub(super) fn not_sent(
        delivery: ClaimedDelivery,
        group: Option<GroupId>,
        claim: Claim,
        reason: &'static str,
        now: Timestamp,
    ) -> Self {
        Self {
            cargo: delivery.cargo,
            group,
            project: None,
            destination: delivery.destination,
            number: delivery.number,
            is_resend: delivery.is_resend,
            claim,
            bytes: 0,
            started_at: now,
            end: AttemptEnd::NotSent(reason),
            trace: None,
        }
    }

    /// How the host answered, if the attempt shows that.
    pub(super) fn host_answer(&self) -> Option<HostAnswer> {
        match &self.end {
            AttemptEnd::Posted(attempt) if attempt.error.is_none() => {
                Some(HostAnswer::Answered(attempt.latency))
            }
            AttemptEnd::Posted(attempt) => Some(HostAnswer::Failed(attempt.latency)),
            AttemptEnd::NotSent(_) | AttemptEnd::LeaseLost => None,
        }
    }
}

#[derive(Debug)]
pub(super) struct CallbackSender {
    targets: CallbackTargets,
    in_flight: TaskTracker,
    finished: (
        mpsc::UnboundedSender<FinishedCallback>,
        mpsc::UnboundedReceiver<FinishedCallback>,
    ),
    wakeup: Wakeup,
}

/// The ways to a receiver.
#[derive(Debug, Clone)]
pub(super) struct CallbackTargets {
    pub(super) http: Arc<dyn CallbackClient>,
    /// None: the listen tunnel is off.
    pub(super) tunnel: Option<Arc<ListenTunnel>>,
}

impl CallbackTargets {
    /// Makes one attempt: a POST to the URL, or to the listener that it names.
    async fn post(
        &self,
        callback: &PendingCallback,
        payload: Bytes,
        signature: Option<&SignatureHeaders>,
        trace: Option<TraceContext>,
    ) -> CallbackAttempt {
        let Some(listener) = listener_of(&callback.url) else {
            let http = &self.http;
            return http.post(&callback.url, payload, signature, trace).await;
        };
        let Some(tunnel) = &self.tunnel else {
            return CallbackAttempt {
                error: Some(TUNNEL_OFF.to_owned()),
                ..CallbackAttempt::default()
            };
        };
        let callback = TunnelCallback {
            listener: &listener,
            project: callback.project,
            cargo: callback.cargo,
            number: callback.number,
            payload,
            signature,
            trace,
        };
        Box::pin(tunnel.hand_over(&callback)).await
    }
}

impl CallbackSender {
    pub(super) fn new(targets: CallbackTargets, wakeup: Wakeup) -> Self {
        Self {
            targets,
            in_flight: TaskTracker::new(),
            finished: mpsc::unbounded_channel(),
            wakeup,
        }
    }

    /// Signs the callback and starts the POST. It is cancelled when the lease under which it was claimed is lost.
    pub(super) fn start(
        &self,
        mut callback: PendingCallback,
        signer: Option<Arc<CallbackSigner>>,
        lease: CancellationToken,
        now: Timestamp,
    ) {
        let (targets, finished) = (self.targets.clone(), self.finished.0.clone());
        let wakeup = self.wakeup.clone();
        self.in_flight.spawn(async move {
            let payload = std::mem::take(&mut callback.payload);
            let signature = signer.map(|signer| callback.sign(&signer, now, &payload));
            let (cargo, number) = (callback.cargo, callback.number);
            let trace = callback.trace;
            let trace = trace.map(|load| delivery_context(load, cargo, number));
            let post = targets.post(&callback, payload, signature.as_ref(), trace);
            let end = tokio::select! {
                biased;
                () = lease.cancelled() => AttemptEnd::LeaseLost,
                attempt = post => AttemptEnd::Posted(attempt),
            };
            let ended = FinishedCallback::new(callback, end, now);
            // The receiver is gone only after deliver has ended, and then the row is free again.
            let _ = finished.send(ended);
            wakeup.wake();
        });
    }

    /// Ends a callback attempt without a POST.
    pub(super) fn skip(&self, finished: FinishedCallback) {
        let _ = self.finished.0.send(finished);
    }

    pub(super) fn next_finished(&mut self) -> Option<FinishedCallback> {
        self.finished.1.try_recv().ok()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.in_flight.is_empty() && self.finished.1.is_empty()
    }

    pub(super) async fn wait(&self) {
        self.wakeup.wait().await;
    }

    /// Wakes the stage later.
    pub(super) fn wake_after(&self, delay: Duration) {
        let wakeup = self.wakeup.clone();
        tokio::spawn(async move {
            tokio::time::sleep(delay).await;
            wakeup.wake();
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn nothing_is_sent_under_a_lease_that_is_lost() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let callbacks = outbound::callback::HttpCallbackClient::new(outbound::callback::Options {
            timeout: Duration::from_mins(1),
            allowed_ranges: vec!["127.0.0.0/8".parse().unwrap()],
            schemes: domain::callback_url::AllowedSchemes::HttpAndHttps,
            rules: <_>::default(),
        });
        let targets = CallbackTargets {
            http: Arc::new(callbacks.unwrap()),
            tunnel: None,
        };
        let mut sender = CallbackSender::new(targets, Wakeup::default());
        let claim = Claim {
            node: uuid::Uuid::nil(),
            epoch: 1,
        };
        let callback = || PendingCallback {
            cargo: CargoId::from_uuid(uuid::Uuid::nil()),
            group: None,
            project: uuid::Uuid::nil().into(),
            destination: Destination {
                organization: uuid::Uuid::nil().into(),
                host: "host".to_owned(),
            },
            url: url.clone(),
            number: 1,
            is_resend: false,
            due_at: Timestamp::UNIX_EPOCH,
            claim,
            bytes: 0,
            lacks_names: false,
            payload: bytes::Bytes::from_static(b"{}"),
            trace: None,
        };
        // One is in flight when the lease is lost, the other has not started.
        let lease = CancellationToken::new();
        sender.start(callback(), None, lease.clone(), Timestamp::UNIX_EPOCH);
        let _receiver = listener.accept().await.unwrap();
        lease.cancel();
        sender.start(callback(), None, lease, Timestamp::UNIX_EPOCH);
        for _ in 0..2 {
            let finished = loop {
                if let Some(finished) = sender.next_finished() {
                    break finished;
                }
                sender.wait().await;
            };
            assert!(matches!(finished.end, AttemptEnd::LeaseLost));
            assert_eq!(finished.host_answer(), None);
        }
        assert!(sender.is_idle());
    }
}
