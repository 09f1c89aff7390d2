//! Checks whether connections to PostgreSQL and Redis on other machines are encrypted.

use store::pool::{HostTransport, TlsRequirement, host_transports};
use url::Url;

use crate::doctor::DependencyFindings;
use crate::settings::address::DatabaseUrl;
use crate::settings::encryption::{is_this_machine, plaintext_redis_host};

const CHECK: &str = "encryption";

pub(super) fn check_database(found: &mut DependencyFindings, url: &DatabaseUrl) {
    // An address that cannot be parsed fails the next check.
    let hosts = host_transports(url.reveal()).unwrap_or_default();
    let is_remote = |it: &HostTransport| it.host.as_deref().is_some_and(|it| !is_this_machine(it));
    // All hosts of an address have the same options.
    let Some(remote) = hosts.into_iter().find(is_remote) else {
        return;
    };
    match remote.tls {
        TlsRequirement::Verified => found.ok(CHECK, "TLS; the server's certificate is verified"),
        TlsRequirement::Unverified => {
            let fix = "set sslmode=verify-full in the address, and sslrootcert for your own \
                       authority";
            found.warning(CHECK, "TLS, but any certificate is accepted", fix);
        }
        TlsRequirement::Optional => {
            let fix = "set sslmode=verify-full in the address";
            found.warning(CHECK, "connections may be unencrypted", fix);
        }
    }
}

pub(super) fn check_redis(found: &mut DependencyFindings, url: &Url) {
    if url.scheme() == "rediss" {
        found.ok(CHECK, "TLS; the server's certificate is verified");
    } else if plaintext_redis_host(url).is_some() {
        let fix = "use a rediss:// address, and SVC_REDIS_CA_FILE for your own authority";
        found.warning(CHECK, "connections are not encrypted", fix);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::FindingState;
    use crate::settings::read_variables;

    fn findings(database: &str, redis: &str) -> Vec<(FindingState, String)> {
        let given = [
            ("SVC_DATABASE_URL", database),
            ("SVC_REDIS_URL", redis),
            ("SVC_PLAINTEXT_CONNECTIONS", "allow"),
        ];
        let given = given.map(|(name, value)| (name.into(), value.into()));
        let settings = read_variables(given).settings().unwrap();
        let mut found = DependencyFindings::new("test");
        check_database(&mut found, &settings.databases.control);
        check_redis(&mut found, settings.values.redis_url.as_ref().unwrap());
        let list = found.list.into_iter();
        list.map(|it| (it.state, it.found)).collect()
    }

    #[test]
    fn h5_connections_that_may_be_unencrypted_are_reported() {
        let local = findings("postgres://localhost/x", "redis://127.0.0.1:6379");
        assert_eq!(local, []);
        let plain = findings("postgres://db.example/x", "redis://redis.example");
        let expected = [
            "connections may be unencrypted",
            "connections are not encrypted",
        ];
        let expected = expected.map(|text| (FindingState::Warning, text.to_owned()));
        assert_eq!(plain, expected);
        let verified = "TLS; the server's certificate is verified".to_owned();
        let verified = (FindingState::Ok, verified);
        let any = "TLS, but any certificate is accepted".to_owned();
        let tls = findings("postgres://db/x?sslmode=require", "rediss://redis.example");
        assert_eq!(tls, [(FindingState::Warning, any), verified.clone()]);
        let tls = findings("postgres://db/x?sslmode=verify-full", "rediss://r");
        assert_eq!(tls, [verified.clone(), verified]);
    }
}
