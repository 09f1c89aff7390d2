//! Is this a load? Reads the body once and reports every fault of it.
//!
//! Not JSON is 400; JSON of another shape is 422. Whether the model exists,
//! and whether it can do what is asked, is [`domain::admission`]'s to say.

use axum::http::StatusCode;
use domain::callback::{CallbackUrl, Schemes};
use domain::params::Params;
use serde::de::{DeserializeSeed as _, IgnoredAny};
use serde_json::Deserializer;

use crate::faults::Faults;
use crate::problem::Problem;

mod body;
mod messages;
mod params;
mod shape;
mod values;

/// What an installation allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rules {
    pub schemes: Schemes,
    pub max_messages: usize,
    pub max_references: usize,
    pub max_stop_sequences: usize,
}

/// A load that is well formed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Asked {
    pub params: Params,
    pub callback: Option<CallbackUrl>,
    /// A JSON object, as given.
    pub metadata: Option<String>,
}

pub(crate) fn check(body: &[u8], rules: &Rules) -> Result<Asked, Problem> {
    let text = std::str::from_utf8(body).map_err(|error| {
        let place = error.valid_up_to();
        bad_request(format!(
            "The body is not UTF-8: byte {place} belongs to no character."
        ))
    })?;
    let mut faults = Faults::under(["body"]);
    let mut json = Deserializer::from_str(text);
    let shape = shape::Read(body::Body {
        faults: &mut faults,
        rules,
    });
    let given = shape
        .deserialize(&mut json)
        .and_then(|given| json.end().map(|()| given));
    let given = given.map_err(|error| unreadable(text, &error))?;
    let asked = given.required_here(&mut faults, shape::OBJECT);
    faults.into_result(asked).map_err(Problem::faults)
}

fn unreadable(text: &str, error: &serde_json::Error) -> Problem {
    // JSON may say what no text or number of ours can hold: half a surrogate pair, 1e999.
    if let Err(error) = serde_json::from_str::<IgnoredAny>(text) {
        return bad_request(format!("The body is not JSON: {error}."));
    }
    Problem::fault(["body"], format!("This cannot be read: {error}"))
}

fn bad_request(detail: String) -> Problem {
    Problem::text(StatusCode::BAD_REQUEST, detail)
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod properties;
