//! One request in the words of `OpenAI`, which servers of one's own speak too.

mod answer;
mod question;

pub(super) use answer::read;
pub(super) use question::{Dialect, body, path};

#[cfg(test)]
mod tests;
