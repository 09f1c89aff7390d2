//! How single values are read. An error goes on after the field's name.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::file::{LONGEST_FILENAME, LONGEST_TTL, MOST_METADATA, SHORTEST_TTL, Sha256};
use serde_json::Value;
use serde_json::value::RawValue;

use super::Wrong;

pub(super) fn text(raw: &RawValue) -> Result<String, Wrong> {
    serde_json::from_str(raw.get()).map_err(|_| "should be a text".into())
}

pub(super) fn boolean(raw: &RawValue) -> Result<bool, Wrong> {
    serde_json::from_str(raw.get()).map_err(|_| "should be true or false".into())
}

pub(super) fn list(raw: &RawValue) -> Result<Vec<Value>, Wrong> {
    serde_json::from_str(raw.get()).map_err(|_| "should be an array".into())
}

pub(super) fn filename(raw: &RawValue) -> Result<String, Wrong> {
    let name = text(raw)?;
    if name.chars().count() > LONGEST_FILENAME {
        return Err(format!("should have at most {LONGEST_FILENAME} characters").into());
    }
    if name.is_empty() || name.contains('\0') {
        return Err("should not be empty, nor contain a zero character".into());
    }
    Ok(name)
}

/// Larger than any number is still a size, and too large.
pub(super) fn size(raw: &RawValue) -> Result<u64, Wrong> {
    let expected = || Wrong::from("should be a whole number of bytes, at least 1");
    let number = raw.get();
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(expected());
    }
    match number.parse().unwrap_or(u64::MAX) {
        0 => Err(expected()),
        size => Ok(size),
    }
}

pub(super) fn ttl(raw: &RawValue) -> Result<u32, Wrong> {
    let seconds = serde_json::from_str(raw.get()).ok();
    seconds
        .filter(|seconds| (SHORTEST_TTL..=LONGEST_TTL).contains(seconds))
        .ok_or_else(|| {
            format!("should be a whole number of seconds from {SHORTEST_TTL} to {LONGEST_TTL}")
                .into()
        })
}

/// The text is kept as given: an order of keys or a long number may matter to the caller.
pub(super) fn tags(raw: &RawValue) -> Result<Vec<u8>, Wrong> {
    let json = raw.get();
    if !json.starts_with('{') {
        return Err("should be an object".into());
    }
    if json.len() > MOST_METADATA {
        return Err(format!("should be at most {MOST_METADATA} bytes of JSON").into());
    }
    Ok(json.as_bytes().to_vec())
}

pub(super) fn sha256(raw: &RawValue) -> Result<Sha256, Wrong> {
    let digits = text(raw)?;
    let mut bytes = [0; 32];
    hex::decode_to_slice(digits, &mut bytes)
        .map_err(|_| "should be the SHA-256 of the bytes: 64 hexadecimal digits")?;
    Ok(Sha256(bytes))
}

pub(super) fn base64_sha256(text: Option<&str>) -> Result<Sha256, Wrong> {
    let bytes = text.and_then(|text| STANDARD.decode(text).ok());
    let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
    bytes
        .map(Sha256)
        .ok_or_else(|| "should be the base64 SHA-256 of the part".into())
}
