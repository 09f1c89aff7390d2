//! Randomness, drawn from the operating system.

use domain::api_key::ApiKey;
use domain::token::Token;
use rand::TryRng as _;
use rand::rngs::SysRng;

use crate::admin::AdminFailure;

/// What fills the random bits of an id.
pub(super) fn entropy() -> Result<u64, AdminFailure> {
    SysRng
        .try_next_u64()
        .map_err(|_| AdminFailure::NoRandomness)
}

pub(super) fn api_key() -> Result<ApiKey, AdminFailure> {
    // Twice what a key needs: some bytes are passed over so that all letters are equally likely.
    let mut bytes = [0; 64];
    SysRng
        .try_fill_bytes(&mut bytes)
        .map_err(|_| AdminFailure::NoRandomness)?;
    ApiKey::draw(bytes).ok_or(AdminFailure::NoRandomness)
}

pub(super) fn token() -> Result<Token, AdminFailure> {
    let mut bytes = [0; 32];
    SysRng
        .try_fill_bytes(&mut bytes)
        .map_err(|_| AdminFailure::NoRandomness)?;
    Ok(Token::of(bytes))
}
