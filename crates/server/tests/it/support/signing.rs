//! The signing root of the service under test.

use domain::callback_signature::{SigningRoot, SigningRoots};

pub(crate) fn signing_roots() -> SigningRoots {
    // The bytes 0 to 31.
    let root = SigningRoot::parse("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");
    SigningRoots {
        current: root.unwrap(),
        previous: None,
    }
}
