//! Parses single values. An error message follows the field's name.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::file::{
    MAX_FILENAME_CHARS, MAX_METADATA_BYTES, MAX_TTL_SECONDS, MIN_TTL_SECONDS, Sha256,
};
use serde_json::Value;
use serde_json::value::RawValue;

use super::FieldMessage;

pub(super) fn parse_text(raw: &RawValue) -> Result<String, FieldMessage> {
    serde_json::from_str(raw.get()).map_err(|_| "should be a string".into())
}

pub(super) fn parse_boolean(raw: &RawValue) -> Result<bool, FieldMessage> {
    serde_json::from_str(raw.get()).map_err(|_| "should be true or false".into())
}

pub(super) fn parse_array(raw: &RawValue) -> Result<Vec<Value>, FieldMessage> {
    serde_json::from_str(raw.get()).map_err(|_| "should be an array".into())
}

pub(super) fn parse_filename(raw: &RawValue) -> Result<String, FieldMessage> {
    let name = parse_text(raw)?;
    if name.chars().count() > MAX_FILENAME_CHARS {
        return Err(format!("should have at most {MAX_FILENAME_CHARS} characters").into());
    }
    if name.is_empty() || name.contains('\0') {
        return Err("should not be empty or contain a NUL character".into());
    }
    Ok(name)
}

/// A number that does not fit into 64 bits counts as too large, not as invalid.
pub(super) fn parse_size(raw: &RawValue) -> Result<u64, FieldMessage> {
    let expected = || FieldMessage::from("should be a whole number of bytes, at least 1");
    let number = raw.get();
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(expected());
    }
    match number.parse().unwrap_or(u64::MAX) {
        0 => Err(expected()),
        size => Ok(size),
    }
}

pub(super) fn parse_ttl(raw: &RawValue) -> Result<u32, FieldMessage> {
    let seconds = serde_json::from_str(raw.get()).ok();
    seconds
        .filter(|seconds| (MIN_TTL_SECONDS..=MAX_TTL_SECONDS).contains(seconds))
        .ok_or_else(|| {
            format!(
                "should be a whole number of seconds from {MIN_TTL_SECONDS} to {MAX_TTL_SECONDS}"
            )
            .into()
        })
}

/// The JSON text is stored unchanged, because the order of keys or a long number may matter to
/// the caller.
pub(super) fn parse_metadata(raw: &RawValue) -> Result<Vec<u8>, FieldMessage> {
    let json = raw.get();
    if !json.starts_with('{') {
        return Err("should be an object".into());
    }
    if json.len() > MAX_METADATA_BYTES {
        return Err(format!("should be at most {MAX_METADATA_BYTES} bytes of JSON").into());
    }
    Ok(json.as_bytes().to_vec())
}

pub(super) fn parse_sha256(raw: &RawValue) -> Result<Sha256, FieldMessage> {
    let digits = parse_text(raw)?;
    let mut bytes = [0; 32];
    hex::decode_to_slice(digits, &mut bytes)
        .map_err(|_| "should be the SHA-256 of the bytes: 64 hexadecimal digits")?;
    Ok(Sha256(bytes))
}

pub(super) fn parse_base64_sha256(text: Option<&str>) -> Result<Sha256, FieldMessage> {
    let bytes = text.and_then(|text| STANDARD.decode(text).ok());
    let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
    bytes
        .map(Sha256)
        .ok_or_else(|| "should be the base64 SHA-256 of the part".into())
}
