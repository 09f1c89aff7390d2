//! Every call to another machine: providers, callback receivers, the OIDC provider, Redis, the
//! object store, the malware scanner and the collector of traces. Also the child processes: the
//! probe, and the command of the master key.

mod connection;

pub mod tls;

mod http_exchange;

mod percent_encoding;

pub mod provider;

pub mod callback;

pub mod oidc;

pub mod rate_limits;

pub mod health;

pub mod probe;

pub mod master_key;

pub mod role_credentials;

pub mod object_store;

pub mod malware_scanner;

pub mod otlp;
