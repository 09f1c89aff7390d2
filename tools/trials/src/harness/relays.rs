//! Servers between the service and another server, or instead of one, that fail on command.

pub mod capturing_relay;
pub mod counting_proxy;
pub mod faulty_relay;
pub mod faulty_server;
pub mod forwarding_proxy;
pub mod listener;
pub mod narrow_socket;
pub mod pgwire;
pub mod request_log;
pub mod silent_relay;
pub mod slow_relay;
pub mod statement_relay;
