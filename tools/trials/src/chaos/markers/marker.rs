//! The markers of a run: one text for each kind of content, in no other run and in no program.

use crate::harness::sha256;

/// Makes the job of a batch larger than what its worker keeps in memory.
const PROMPT_BYTES: usize = 20_000;
/// The simulator's answer begins with so many digits of the question's SHA-256.
const ANSWER_DIGITS: usize = 16;

/// Letters only, except the answer: escaped in JSON or in a URL, they are the same, and labels of
/// errors keep them.
#[derive(Debug)]
pub(super) struct Markers {
    pub prompt: String,
    /// In the answer alone: the provider computes it.
    answer: String,
    pub metadata: String,
    pub url_query: String,
    pub callback_answer: String,
    pub provider_error: String,
    pub filename: String,
    pub file_metadata: String,
    pub custom_id: String,
    pub group_metadata: String,
    pub group_url_query: String,
}

impl Markers {
    pub(super) fn draw() -> Self {
        let run = format!("zq{}", draw_letters());
        let prompt = format!("{run}prompt");
        let digest = sha256::sha256_hex(prompt_text(&prompt, 0).as_bytes());
        Self {
            answer: digest.chars().take(ANSWER_DIGITS).collect(),
            metadata: format!("{run}metadata"),
            url_query: format!("{run}query"),
            callback_answer: format!("{run}callbackanswer"),
            provider_error: format!("{run}providererror"),
            filename: format!("{run}filename"),
            file_metadata: format!("{run}filemetadata"),
            custom_id: format!("{run}customid"),
            group_metadata: format!("{run}groupmetadata"),
            group_url_query: format!("{run}groupquery"),
            prompt,
        }
    }

    /// The question of the `number`th cargo.
    pub(super) fn question(&self, number: usize) -> String {
        prompt_text(&self.prompt, number)
    }

    /// Every marker with the kind of content that has it.
    pub(super) fn list(&self) -> [(&'static str, &str); 11] {
        [
            ("prompt", &self.prompt),
            ("answer", &self.answer),
            ("metadata", &self.metadata),
            ("callback URL", &self.url_query),
            ("callback answer", &self.callback_answer),
            ("provider error", &self.provider_error),
            ("file name", &self.filename),
            ("file metadata", &self.file_metadata),
            ("custom ID", &self.custom_id),
            ("group metadata", &self.group_metadata),
            ("group callback URL", &self.group_url_query),
        ]
    }
}

fn draw_letters() -> String {
    let digits = format!("{:016x}", rand::random::<u64>());
    let letters = digits.bytes().map(|digit| match digit {
        b'0'..=b'9' => char::from(digit - b'0' + b'g'),
        _ => char::from(digit),
    });
    letters.collect()
}

fn prompt_text(marker: &str, number: usize) -> String {
    format!("{marker} {number} {}", "x".repeat(PROMPT_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_not_in_the_question() {
        let markers = Markers::draw();
        assert_eq!(markers.answer.len(), ANSWER_DIGITS);
        assert!(!markers.question(0).contains(&markers.answer));
        assert!(markers.question(0).contains(&markers.prompt));
    }

    #[test]
    fn a_marker_has_only_letters() {
        let markers = Markers::draw();
        for (kind, text) in markers.list().into_iter().filter(|it| it.0 != "answer") {
            assert!(text.chars().all(|it| it.is_ascii_lowercase()), "{kind}");
        }
    }
}
