//! Opens the client of Redis that counts rate limits, with its certificates.

use std::io;
use std::path::{Path, PathBuf};

use outbound::rate_limits::{
    RateLimiterFailure, RedisCertificates, RedisClientCertificate, RedisRateLimiter,
};

use crate::settings::table::SettingValues;

#[derive(Debug, thiserror::Error)]
pub enum RedisSetupFailure {
    #[error("the file {} of {setting} cannot be read", path.display())]
    File {
        setting: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("the client of Redis cannot be set up; check SVC_REDIS_URL and its certificates")]
    Client(#[from] RateLimiterFailure),
}

/// None if Redis is not configured.
pub fn open(values: &SettingValues) -> Result<Option<RedisRateLimiter>, RedisSetupFailure> {
    let Some(url) = &values.redis_url else {
        return Ok(None);
    };
    let client = match (&values.redis_cert_file, &values.redis_key_file) {
        (Some(certificate), Some(key)) => Some(RedisClientCertificate {
            certificate: read("SVC_REDIS_CERT_FILE", certificate)?,
            key: read("SVC_REDIS_KEY_FILE", key)?,
        }),
        // The settings accept only both.
        (Some(_) | None, None) | (None, Some(_)) => None,
    };
    let authorities = values.redis_ca_file.as_deref();
    let authorities = authorities.map(|file| read("SVC_REDIS_CA_FILE", file));
    let certificates = RedisCertificates {
        authorities: authorities.transpose()?,
        client,
    };
    Ok(Some(RedisRateLimiter::with_certificates(
        url.as_str(),
        certificates,
    )?))
}

fn read(setting: &'static str, path: &Path) -> Result<Vec<u8>, RedisSetupFailure> {
    std::fs::read(path).map_err(|source| RedisSetupFailure::File {
        setting,
        path: path.to_owned(),
        source,
    })
}
