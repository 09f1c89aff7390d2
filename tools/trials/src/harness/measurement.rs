//! Statistics, CPU time, memory and ports of processes.

pub mod cpu_time;
pub mod cpu_usage;
pub mod process_memory;
pub mod process_monitor;
pub mod statistics;
pub mod tcp_ports;
