//! A part of sweep that fails stops no other.

use store::Shard;

/// Logs and counts the failure of one part. Returns it only if the database is unavailable.
pub(super) fn isolate_failure<T>(
    shard: &Shard,
    part: &'static str,
    result: Result<T, store::Error>,
) -> Result<Option<T>, store::Error> {
    let shard = shard.name.to_string();
    let failures = metrics::counter!("longshore_sweep_failures_total", "part" => part, "shard" => shard.clone());
    let failure = match result {
        Ok(result) => return Ok(Some(result)),
        Err(failure) if failure.is_unavailable() => return Err(failure),
        Err(failure) => failure,
    };
    tracing::warn!(
        shard,
        part,
        failure = failure.diagnosis(),
        "a part of sweep failed and will be retried"
    );
    failures.increment(1);
    Ok(None)
}
