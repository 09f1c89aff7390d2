//! Our errors as texts, for formats that have one message.

use wire::error_body::{ErrorDetail, LocationStep, ValidationError};

/// The code for programs, if the error has one.
pub(crate) const fn code_of(detail: &ErrorDetail) -> Option<&'static str> {
    match detail {
        ErrorDetail::Coded(coded) => Some(coded.error),
        ErrorDetail::Text(_) | ErrorDetail::ValidationErrors(_) => None,
    }
}

/// The message for people. Validation errors name their fields.
pub(crate) fn message_of(detail: &ErrorDetail) -> String {
    match detail {
        ErrorDetail::Text(text) => text.clone().into_owned(),
        ErrorDetail::Coded(coded) => coded.message.clone(),
        ErrorDetail::ValidationErrors(errors) => {
            let texts: Vec<String> = errors.iter().map(describe).collect();
            texts.join("; ")
        }
    }
}

/// Such as `params.max_tokens: …`.
fn describe(error: &ValidationError) -> String {
    let steps = error.loc.iter().map(|step| match step {
        LocationStep::Key(key) => key.clone().into_owned(),
        LocationStep::Index(index) => index.to_string(),
    });
    let steps: Vec<String> = steps.skip_while(|step| step == "body").collect();
    if steps.is_empty() {
        return error.msg.clone().into_owned();
    }
    format!("{}: {}", steps.join("."), error.msg)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_validation_error_names_its_field() {
        let error = ValidationError {
            kind: "value_error",
            loc: vec![
                LocationStep::key("body"),
                LocationStep::key("params"),
                LocationStep::key("messages"),
                LocationStep::Index(2),
            ],
            msg: "Input should be an object".into(),
        };
        let detail = ErrorDetail::ValidationErrors(vec![error]);
        assert_eq!(
            message_of(&detail),
            "params.messages.2: Input should be an object"
        );
        assert_eq!(code_of(&detail), None);
    }
}
