//! A place with a server: given back however the question ends, and also when nobody waits for its end.

use std::sync::{Mutex, MutexGuard, PoisonError};

use outbound::provider::server::concurrency::{Concurrency, Ended, Turn};

#[derive(Debug)]
pub(super) struct Place<'a> {
    bears: &'a Mutex<Concurrency>,
    turn: Option<Turn>,
}

impl<'a> Place<'a> {
    /// Nothing when the server has enough to do.
    pub(super) fn take(bears: &'a Mutex<Concurrency>) -> Option<Self> {
        let turn = Some(lock(bears).begin()?);
        Some(Self { bears, turn })
    }

    pub(super) fn end(mut self, how: Ended) {
        self.give_back(how);
    }

    fn give_back(&mut self, how: Ended) {
        if let Some(turn) = self.turn.take() {
            lock(self.bears).end(turn, how);
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.give_back(Ended::Aside);
    }
}

fn lock(bears: &Mutex<Concurrency>) -> MutexGuard<'_, Concurrency> {
    bears.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_is_dropped_is_free_again() {
        let bears = Mutex::new(Concurrency::new(1, 8));
        let place = Place::take(&bears).unwrap();
        assert!(Place::take(&bears).is_none());
        drop(place);
        let place = Place::take(&bears).unwrap();
        place.end(Ended::Well);
        assert_eq!(lock(&bears).under_way(), 0);
    }
}
