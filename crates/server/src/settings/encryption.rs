//! In production, connections to PostgreSQL and Redis on other machines must be encrypted.

use std::net::IpAddr;

use store::pool::{TlsRequirement, host_transports};
use url::Url;

use crate::settings::address::DatabaseUrl;
use crate::settings::choice::{Environment, PlaintextConnections};
use crate::settings::table::SettingValues;

/// Names of settings whose connections may be unencrypted, each with what to do.
pub(super) fn check(values: &SettingValues) -> Vec<(&'static str, String)> {
    let is_production = values.environment == Environment::Production;
    if !is_production || values.plaintext_connections == PlaintextConnections::Allow {
        return Vec::new();
    }
    let database = |name, url: &Option<DatabaseUrl>| {
        let hosts = url.as_ref().map(plaintext_hosts).unwrap_or_default();
        (name, hosts)
    };
    let shards = values.shard_database_urls.iter();
    let shards = shards.flat_map(|shard| plaintext_hosts(&shard.url));
    let databases = [
        database("SVC_DATABASE_URL", &values.database_url),
        database("SVC_CONTROL_DATABASE_URL", &values.control_database_url),
        ("SVC_SHARD_DATABASE_URLS", shards.collect()),
    ];
    let databases = databases.into_iter().filter(|(_, hosts)| !hosts.is_empty());
    let mut faults: Vec<_> = databases
        .map(|(name, hosts)| {
            let fix = "add sslmode=verify-full to the address";
            (name, text(&hosts.join(", "), fix))
        })
        .collect();
    let redis = values.redis_url.as_ref();
    if let Some(host) = redis.and_then(plaintext_redis_host) {
        let fix = "use a rediss:// address";
        faults.push(("SVC_REDIS_URL", text(&host, fix)));
    }
    faults
}

fn text(hosts: &str, fix: &str) -> String {
    format!(
        "connections to {hosts} may be unencrypted; {fix}, or set \
         SVC_PLAINTEXT_CONNECTIONS=allow if your network protects them"
    )
}

/// The hosts of an address on other machines to which a connection may be unencrypted.
fn plaintext_hosts(url: &DatabaseUrl) -> Vec<String> {
    // An address that cannot be parsed is reported when it is used.
    let hosts = host_transports(url.reveal()).unwrap_or_default();
    let plain = hosts
        .into_iter()
        .filter(|it| it.tls == TlsRequirement::Optional);
    let hosts = plain.filter_map(|transport| transport.host);
    hosts.filter(|host| !is_this_machine(host)).collect()
}

/// The host of Redis if it is on another machine and its address does not use TLS.
pub fn plaintext_redis_host(url: &Url) -> Option<String> {
    let host = url.host_str().filter(|_| url.scheme() == "redis")?;
    (!is_this_machine(host)).then(|| host.to_owned())
}

/// Whether connections to this host never leave the machine.
pub fn is_this_machine(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    match address.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => host.eq_ignore_ascii_case("localhost"),
    }
}

#[cfg(test)]
mod tests {
    use crate::settings::read_variables;

    fn faults(given: &[(&str, &str)]) -> String {
        let variables = given.iter();
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        let faults = read_variables(variables).faults;
        let lines = faults
            .iter()
            .map(|fault| format!("{}: {}", fault.name, fault.text));
        lines.collect::<Vec<_>>().join("\n")
    }

    const CONTROL: (&str, &str) = (
        "SVC_CONTROL_DATABASE_URL",
        "postgres://c@db.example/control",
    );
    const SHARDS: (&str, &str) = (
        "SVC_SHARD_DATABASE_URLS",
        "north=postgres://n:hunter2@10.0.0.1,10.0.0.2/n?sslmode=prefer,\
         south=postgres://s@s.example/s?sslmode=verify-full",
    );
    const REDIS: (&str, &str) = ("SVC_REDIS_URL", "redis://:hunter2@redis.example:6379");

    #[test]
    fn h5_production_refuses_plaintext_to_other_machines() {
        let text = faults(&[CONTROL, SHARDS, REDIS]);
        assert!(!text.contains("hunter2"));
        insta::assert_snapshot!(text, @r"
        SVC_CONTROL_DATABASE_URL: connections to db.example may be unencrypted; add sslmode=verify-full to the address, or set SVC_PLAINTEXT_CONNECTIONS=allow if your network protects them
        SVC_SHARD_DATABASE_URLS: connections to 10.0.0.1, 10.0.0.2 may be unencrypted; add sslmode=verify-full to the address, or set SVC_PLAINTEXT_CONNECTIONS=allow if your network protects them
        SVC_REDIS_URL: connections to redis.example may be unencrypted; use a rediss:// address, or set SVC_PLAINTEXT_CONNECTIONS=allow if your network protects them
        ");
        for permission in [
            ("SVC_PLAINTEXT_CONNECTIONS", "allow"),
            ("SVC_ENVIRONMENT", "development"),
        ] {
            assert_eq!(faults(&[CONTROL, SHARDS, REDIS, permission]), "");
        }
    }

    #[test]
    fn h5_this_machine_and_tls_are_accepted() {
        for (database, redis) in [
            ("postgres://localhost/x", "redis://localhost:6379"),
            ("postgres://127.8.9.1/x", "redis://127.0.0.1:6379"),
            ("postgres://[::1]/x?sslmode=disable", "redis://[::1]:6379"),
            (
                "postgres:///x?host=/run/postgresql",
                "rediss://redis.example",
            ),
            ("postgres://db.example/x?sslmode=require", "rediss://r:1"),
        ] {
            let given = [("SVC_DATABASE_URL", database), ("SVC_REDIS_URL", redis)];
            assert_eq!(faults(&given), "", "{database}");
        }
    }

    #[test]
    fn certificates_of_redis_belong_together() {
        let database = ("SVC_DATABASE_URL", "postgres://localhost/x");
        let plain = [
            database,
            ("SVC_REDIS_URL", "redis://localhost"),
            ("SVC_REDIS_CA_FILE", "/ca.pem"),
            ("SVC_REDIS_CERT_FILE", "/cert.pem"),
        ];
        insta::assert_snapshot!(faults(&plain), @r"
        SVC_REDIS_KEY_FILE: is not set, but SVC_REDIS_CERT_FILE is; a client certificate needs its key
        SVC_REDIS_URL: is not a rediss:// address, but SVC_REDIS_CA_FILE or SVC_REDIS_CERT_FILE is set
        ");
    }
}
