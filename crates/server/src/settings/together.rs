//! What only shows when two settings are seen together.

use crate::settings::table::Values;

/// A setting's name and what is wrong with it.
type Told = (&'static str, &'static str);

pub(super) fn check(values: &Values) -> Vec<Told> {
    let mut told = Vec::new();
    if values.drain_grace >= values.drain {
        let text = "must be less than SVC_DRAIN_SECONDS";
        told.push(("SVC_DRAIN_GRACE_MILLISECONDS", text));
    }
    if values.delivery_slots_per_host > values.delivery_slots {
        let text = "must not be more than SVC_DELIVERY_SLOTS";
        told.push(("SVC_DELIVERY_SLOTS_PER_HOST", text));
    }
    if values.body_budget_bytes < values.max_body_bytes {
        let text = "must not be less than SVC_MAX_BODY_BYTES";
        told.push(("SVC_BODY_BUDGET_BYTES", text));
    }
    if values.oidc_issuer.is_some() {
        if values.oidc_client.is_none() {
            let text = "is not set, but SVC_OIDC_ISSUER is; the house knows us by it";
            told.push(("SVC_OIDC_CLIENT", text));
        }
        if values.public_url.is_none() {
            let text = "is not set, but SVC_OIDC_ISSUER is; the house sends people back there";
            told.push(("SVC_PUBLIC_URL", text));
        }
    }
    told.extend(files(values));
    told
}

/// A store is of no use without its bucket and keys, nor without who scans what lies in it.
fn files(values: &Values) -> Vec<Told> {
    let parts = [
        ("SVC_OBJECTS_BUCKET", values.objects_bucket.is_some()),
        (
            "SVC_OBJECTS_ACCESS_KEY",
            values.objects_access_key.is_some(),
        ),
        (
            "SVC_OBJECTS_SECRET_KEY",
            values.objects_secret_key.is_some(),
        ),
    ];
    if values.objects_url.is_none() {
        let given = parts.iter().any(|(_, given)| *given) || values.objects_public_url.is_some();
        let text = "is not set, but another SVC_OBJECTS_… is; it takes the store's address, \
                    such as http://storage.internal:8333";
        return given
            .then_some(("SVC_OBJECTS_URL", text))
            .into_iter()
            .collect();
    }
    let missing = parts.into_iter().filter(|(_, given)| !given);
    let text = "is not set, but SVC_OBJECTS_URL is; a store needs its bucket and both keys";
    let mut told: Vec<Told> = missing.map(|(name, _)| (name, text)).collect();
    if values.scanner.is_none() {
        let text = "is not set, but SVC_OBJECTS_URL is; no file is ready before it was scanned";
        told.push(("SVC_SCANNER", text));
    }
    told
}
