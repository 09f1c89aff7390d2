//! One table of what can happen at a provider, for each of them: what is tracked, what is called
//! back, and what is paid.
//!
//! A row plays with each provider, and those with which the same happened stand together. A cargo
//! has a line: the statuses that were seen, each with its attempt; how it ended; what was charged.

mod accounts;

mod creating;

mod ends;

mod late;

mod packing;

mod play;

mod polling;

mod results;

mod server;

mod sharing;

mod succession;
