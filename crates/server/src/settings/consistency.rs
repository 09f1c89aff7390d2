//! Checks that settings do not contradict each other.

use crate::settings::choice::{ObjectCredentials, SignInMethods};
use crate::settings::table::SettingValues;

/// A setting's name and why it conflicts with another setting.
type SettingConflict = (&'static str, &'static str);

pub(super) fn check(values: &SettingValues) -> Vec<SettingConflict> {
    let mut conflicts = Vec::new();
    if values.drain_grace >= values.drain {
        let text = "must be less than SVC_DRAIN_SECONDS";
        conflicts.push(("SVC_DRAIN_GRACE_MILLISECONDS", text));
    }
    if values.delivery_slots_per_host > values.delivery_slots {
        let text = "must not be more than SVC_DELIVERY_SLOTS";
        conflicts.push(("SVC_DELIVERY_SLOTS_PER_HOST", text));
    }
    if values.body_budget_bytes < values.max_body_bytes {
        let text = "must not be less than SVC_MAX_BODY_BYTES";
        conflicts.push(("SVC_BODY_BUDGET_BYTES", text));
    }
    if values.signing_root.is_none() && values.signing_root_previous.is_some() {
        let text = "is not set, but SVC_SIGNING_ROOT_PREVIOUS is; set it to the new root";
        conflicts.push(("SVC_SIGNING_ROOT", text));
    }
    if values.oidc_issuer.is_some() {
        if values.oidc_client.is_none() {
            let text = "is not set, but SVC_OIDC_ISSUER is; \
                        set it to the client ID that is registered with the issuer";
            conflicts.push(("SVC_OIDC_CLIENT", text));
        }
        if values.public_url.is_none() {
            let text = "is not set, but SVC_OIDC_ISSUER is; \
                        the issuer redirects people back to this URL";
            conflicts.push(("SVC_PUBLIC_URL", text));
        }
    }
    if values.sign_in == SignInMethods::SsoOnly && values.oidc_issuer.is_none() {
        let text = "is not set, but SVC_SIGN_IN is sso; without an issuer, people cannot sign in";
        conflicts.push(("SVC_OIDC_ISSUER", text));
    }
    if values.tracing_endpoint.is_none() && !values.tracing_headers.0.is_empty() {
        let text = "is not set, but SVC_TRACING_HEADERS is; set it to the URL of the collector";
        conflicts.push(("SVC_TRACING_ENDPOINT", text));
    }
    conflicts.extend(check_master_key(values));
    conflicts.extend(check_redis(values));
    conflicts.extend(check_files(values));
    conflicts
}

/// Master keys are in one place, and a command needs the id of the current one.
fn check_master_key(values: &SettingValues) -> Option<SettingConflict> {
    let has_command = values.master_key_command.is_some();
    if values.master_key_file.is_some() && has_command {
        let text = "is set, and so is SVC_MASTER_KEY_FILE; unset one of them";
        return Some(("SVC_MASTER_KEY_COMMAND", text));
    }
    match (has_command, values.master_key_id.is_some()) {
        (true, false) => {
            let text = "is not set, but SVC_MASTER_KEY_COMMAND is; set it to the id of the key \
                        that wraps new data keys";
            Some(("SVC_MASTER_KEY_ID", text))
        }
        (false, true) => {
            let text = "is not set, but SVC_MASTER_KEY_ID is; in SVC_MASTER_KEY_FILE the first \
                        key is the current one";
            Some(("SVC_MASTER_KEY_COMMAND", text))
        }
        (true, true) | (false, false) => None,
    }
}

/// Certificates are used with TLS only, and a client certificate comes with its key.
fn check_redis(values: &SettingValues) -> Vec<SettingConflict> {
    let (cert, key) = (&values.redis_cert_file, &values.redis_key_file);
    let mut conflicts = Vec::new();
    match (cert, key) {
        (Some(_), None) => {
            let text = "is not set, but SVC_REDIS_CERT_FILE is; a client certificate needs its key";
            conflicts.push(("SVC_REDIS_KEY_FILE", text));
        }
        (None, Some(_)) => {
            let text = "is not set, but SVC_REDIS_KEY_FILE is; a key needs its certificate";
            conflicts.push(("SVC_REDIS_CERT_FILE", text));
        }
        (Some(_), Some(_)) | (None, None) => {}
    }
    let is_tls = values.redis_url.as_ref();
    let is_tls = is_tls.is_some_and(|url| url.scheme() == "rediss");
    if !is_tls && (values.redis_ca_file.is_some() || cert.is_some()) {
        let text =
            "is not a rediss:// address, but SVC_REDIS_CA_FILE or SVC_REDIS_CERT_FILE is set";
        conflicts.push(("SVC_REDIS_URL", text));
    }
    conflicts
}

/// An object store needs its bucket, both keys or a role, and a scanner.
fn check_files(values: &SettingValues) -> Vec<SettingConflict> {
    let keys = [
        (
            "SVC_OBJECTS_ACCESS_KEY",
            values.objects_access_key.is_some(),
        ),
        (
            "SVC_OBJECTS_SECRET_KEY",
            values.objects_secret_key.is_some(),
        ),
    ];
    let mut parts = vec![("SVC_OBJECTS_BUCKET", values.objects_bucket.is_some())];
    let mut conflicts = Vec::new();
    match values.objects_credentials {
        ObjectCredentials::Static => parts.extend(keys),
        ObjectCredentials::Environment => {
            let text = "is set, but SVC_OBJECTS_CREDENTIALS is environment; unset one of them";
            let given = keys.into_iter().filter(|(_, given)| *given);
            conflicts.extend(given.map(|(name, _)| (name, text)));
        }
    }
    if values.objects_url.is_none() {
        let has_public =
            values.objects_public_url.is_some() || values.objects_public_connect.is_some();
        let given = parts.iter().any(|(_, given)| *given) || has_public;
        let text = "is not set, but another SVC_OBJECTS_… is; set it to the URL of the object \
                    store, such as http://storage.internal:8333";
        conflicts.extend(given.then_some(("SVC_OBJECTS_URL", text)));
        return conflicts;
    }
    let missing = parts.into_iter().filter(|(_, given)| !given);
    let text = "is not set, but SVC_OBJECTS_URL is; the object store needs a bucket and both keys";
    conflicts.extend(missing.map(|(name, _)| (name, text)));
    if values.scanner.is_none() {
        let text = "is not set, but SVC_OBJECTS_URL is; every file must be scanned";
        conflicts.push(("SVC_SCANNER", text));
    }
    conflicts
}
