//! The parts of `longshore run`: what identifies a run, its answers on disk, loading and
//! collecting.

pub mod answer_index;

pub mod answer_store;

pub mod bulk_chunk;

pub mod chunk_queue;

pub mod collector;

pub mod earlier_answers;

pub mod identity;

pub mod loader;

pub mod progress;

pub mod shared_run;
