//! `POST /cargo/{cargo_id}/cancel`: what a request to cancel a cargo did.

use serde::Serialize;
use utoipa::ToSchema;

use crate::tracking::CargoStatusBody;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = CancelAnswer)]
pub struct CancelResponse {
    #[schema(example = "crg_019b76da807b774b805000000000002a")]
    pub cargo_id: String,
    /// The status after the request.
    pub status: CargoStatusBody,
    pub cancel: CancelResultBody,
}

/// What became of the request to cancel.
///
/// `cancelled`: no provider has it, and none will get it. It is completed with the error code
/// `cancelled`, costs nothing, and its callback is sent. `too_late`: a provider has it or may have
/// it. Its answer is stored, charged and delivered; if it comes back without one, it is cancelled.
/// `done`: it was completed before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = CancelResult)]
pub enum CancelResultBody {
    Cancelled,
    TooLate,
    Done,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_names_the_cargo_its_status_and_the_result() {
        let answer = CancelResponse {
            cargo_id: "crg_1".to_owned(),
            status: CargoStatusBody::Processing,
            cancel: CancelResultBody::TooLate,
        };
        let json = serde_json::to_string(&answer).unwrap();
        assert_eq!(
            json,
            r#"{"cargo_id":"crg_1","status":"PROCESSING","cancel":"too_late"}"#
        );
    }
}
