//! The fields beside the file: `purpose` and `expires_after`.

use chrono::TimeDelta;

use crate::api_error::OpenAiApiError;
use crate::dropin::openai::file_object::INPUT_PURPOSE;
use crate::dropin::openai::options::{checked_expiry, invalid_expiry};

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct UploadForm {
    purpose: Option<String>,
    anchor: Option<String>,
    seconds: Option<String>,
}

pub(crate) fn malformed(param: &str, message: &str) -> OpenAiApiError {
    OpenAiApiError::invalid(Some(param), "invalid_value", message)
}

impl UploadForm {
    /// A wrong purpose is refused at once: the file may follow it.
    pub(crate) fn set(&mut self, name: &str, text: &str) -> Result<(), OpenAiApiError> {
        let text = text.trim().to_owned();
        match name {
            "purpose" => {
                check_purpose(&text)?;
                self.purpose = Some(text);
            }
            "expires_after[anchor]" => self.anchor = Some(text),
            "expires_after[seconds]" => self.seconds = Some(text),
            _ => {
                let message = format!("Unknown parameter: '{name}'.");
                return Err(OpenAiApiError::invalid(
                    Some(name),
                    "unknown_parameter",
                    message,
                ));
            }
        }
        Ok(())
    }

    /// The lifetime of the file, if the form has one.
    pub(crate) fn check(&self) -> Result<Option<TimeDelta>, OpenAiApiError> {
        if self.purpose.is_none() {
            return Err(OpenAiApiError::missing("purpose"));
        }
        let (anchor, seconds) = (self.anchor.as_deref(), self.seconds.as_deref());
        if anchor.is_none() && seconds.is_none() {
            return Ok(None);
        }
        let lifetime = seconds.and_then(|text| text.parse().ok());
        let lifetime = lifetime.and_then(checked_expiry);
        let lifetime = lifetime.filter(|_| anchor == Some("created_at"));
        lifetime
            .ok_or_else(|| invalid_expiry("expires_after"))
            .map(Some)
    }
}

fn check_purpose(purpose: &str) -> Result<(), OpenAiApiError> {
    if purpose == INPUT_PURPOSE {
        return Ok(());
    }
    let message = "Only input files of batches are uploaded here, with the purpose batch. Declare \
                   files that models read with POST /files, and upload them with the grant that it \
                   returns.";
    Err(malformed("purpose", message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(fields: &[(&str, &str)]) -> Result<Option<i64>, Option<String>> {
        let mut form = UploadForm::default();
        for (name, text) in fields {
            form.set(name, text).map_err(|error| error.param())?;
        }
        let lifetime = form.check().map_err(|error| error.param())?;
        Ok(lifetime.map(|lifetime| lifetime.num_seconds()))
    }

    #[test]
    fn only_files_of_batches_are_accepted() {
        assert_eq!(check(&[("purpose", "batch")]), Ok(None));
        let param = |name: &str| Err(Some(name.to_owned()));
        assert_eq!(check(&[]), param("purpose"));
        for other in ["assistants", "vision", "user_data", "fine-tune", ""] {
            assert_eq!(check(&[("purpose", other)]), param("purpose"), "{other}");
        }
        assert_eq!(check(&[("colour", "red")]), param("colour"));
    }

    #[test]
    fn a_lifetime_is_an_hour_to_thirty_days() {
        let with = |anchor: &str, seconds: &str| {
            check(&[
                ("expires_after[seconds]", seconds),
                ("purpose", "batch"),
                ("expires_after[anchor]", anchor),
            ])
        };
        assert_eq!(with("created_at", "3600"), Ok(Some(3_600)));
        assert_eq!(with("created_at", "2592000"), Ok(Some(2_592_000)));
        let refused = Err(Some("expires_after".to_owned()));
        for wrong in ["3599", "2592001", "-1", "x", ""] {
            assert_eq!(with("created_at", wrong), refused, "{wrong}");
        }
        assert_eq!(with("last_active_at", "3600"), refused);
    }
}
