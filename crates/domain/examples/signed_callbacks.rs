//! Prints signed callbacks for the tests in `tools/webhooks`: `signed_callbacks SECONDS`.

#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "it prints, and has nothing to recover from"
)]

use domain::callback_settings::CallbackSettingsChange::{EnableSigning, Rotate};
use domain::callback_settings::{CallbackSettings, RotationOverlap};
use domain::callback_signature::{CallbackSigner, SigningRoot, SigningRoots};
use domain::id::{CargoId, ProjectId};
use domain::time::Timestamp;
use serde_json::{Value, json};

const ROOT: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const PROJECT: &str = "prj_019b76da807b774b805000000000002a";
const CARGO: &str = "crg_019b76da807b774b805000000000002a";
const BODY: &str = r#"{"cargo_id":"crg_019b76da807b774b805000000000002a","success":false,"response":null,"error":"Grüße 👋 \n","error_code":"request_rejected","metadata":{"order": 7}}"#;

fn main() {
    let seconds = std::env::args().nth(1).expect("usage: SECONDS");
    let seconds = seconds.parse().expect("seconds since 1970");
    let now = Timestamp::from_timestamp(seconds, 0).expect("a time");
    let roots = SigningRoots {
        current: SigningRoot::parse(ROOT).expect("a root"),
        previous: None,
    };
    let project: ProjectId = PROJECT.parse().expect("an id");
    let apply = |settings: CallbackSettings, change| {
        let changed = settings.apply(change, now);
        changed.expect("an allowed change")
    };
    let rotate = |overlap| Rotate {
        overlap,
        replaces_previous: false,
    };
    let signed = apply(CallbackSettings::default(), EnableSigning);
    let callback = |settings| signed_callback(&roots, project, &settings, now);
    let secret = |version| roots.secret(project, version).reveal();
    let printed = json!({
        "old_secret": secret(1),
        "new_secret": secret(2),
        "before_rotation": callback(signed),
        "during_rotation": callback(apply(signed, rotate(RotationOverlap::OneDay))),
        "after_rotation": callback(apply(signed, rotate(RotationOverlap::None))),
    });
    println!("{printed}");
}

fn signed_callback(
    roots: &SigningRoots,
    project: ProjectId,
    settings: &CallbackSettings,
    now: Timestamp,
) -> Value {
    let cargo: CargoId = CARGO.parse().expect("an id");
    let signer = CallbackSigner::new(roots, project, settings).expect("signing is on");
    let headers = signer.sign(cargo, now, BODY.as_bytes());
    let headers: serde_json::Map<String, Value> = headers
        .pairs()
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect();
    json!({ "headers": headers, "body": BODY })
}
