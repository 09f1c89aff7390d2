//! Checks of a receiver of callbacks: the command line is the sender, so it reaches laptops, too.

pub mod checks;

pub mod payloads;

pub mod probe;
