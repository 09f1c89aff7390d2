//! Holds a permit of a server's concurrency limiter, and returns it when dropped.

use outbound::provider::realtime::concurrency_limiter::{
    ConcurrencyFeedback, ConcurrencyLimiter, ConcurrencyPermit,
};
use parking_lot::Mutex;

#[derive(Debug)]
pub(super) struct PermitGuard<'a> {
    limiter: &'a Mutex<ConcurrencyLimiter>,
    permit: Option<ConcurrencyPermit>,
}

impl<'a> PermitGuard<'a> {
    /// None when the server has reached its concurrency limit.
    pub(super) fn try_acquire(limiter: &'a Mutex<ConcurrencyLimiter>) -> Option<Self> {
        let permit = Some(limiter.lock().try_acquire()?);
        Some(Self { limiter, permit })
    }

    pub(super) fn release(mut self, how: ConcurrencyFeedback) {
        self.return_permit(how);
    }

    fn return_permit(&mut self, how: ConcurrencyFeedback) {
        if let Some(permit) = self.permit.take() {
            self.limiter.lock().release(permit, how);
        }
    }
}

impl Drop for PermitGuard<'_> {
    fn drop(&mut self) {
        self.return_permit(ConcurrencyFeedback::Ignored);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permit_that_is_dropped_is_free_again() {
        let limiter = Mutex::new(ConcurrencyLimiter::new(1, 8));
        let permit = PermitGuard::try_acquire(&limiter).unwrap();
        assert!(PermitGuard::try_acquire(&limiter).is_none());
        drop(permit);
        let permit = PermitGuard::try_acquire(&limiter).unwrap();
        permit.release(ConcurrencyFeedback::Success);
        assert_eq!(limiter.lock().in_flight(), 0);
    }
}
