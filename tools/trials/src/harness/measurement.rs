//! Statistics, CPU time, memory, open files and ports of processes.

pub mod cpu_time;
pub mod cpu_usage;
pub mod open_files;
pub mod process_memory;
pub mod process_monitor;
pub mod statistics;
pub mod tcp_ports;
