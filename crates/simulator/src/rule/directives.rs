//! Directives: `[[words]]` in the last user text that change the result of one item.

/// Invalid directives are plain text.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Directives {
    found: Vec<(String, String)>,
}

impl Directives {
    pub fn read(text: &str) -> Self {
        let found = text
            .split("[[")
            .skip(1)
            .filter_map(|after| after.split_once("]]"))
            .map(|(inside, _)| {
                let (word, argument) = inside.trim().split_once(' ').unwrap_or((inside, ""));
                (word.trim().to_owned(), argument.trim().to_owned())
            })
            .collect();
        Self { found }
    }

    /// `[[fail 400]]`: the item fails with this status.
    pub fn fail(&self) -> Option<u16> {
        let status = self.argument("fail")?.parse().ok()?;
        (400..=599).contains(&status).then_some(status)
    }

    /// `[[blocked]]`: a content filter removes the text.
    pub fn is_blocked(&self) -> bool {
        self.argument("blocked").is_some()
    }

    /// `[[refuse]]`: the model declines.
    pub fn is_refused(&self) -> bool {
        self.argument("refuse").is_some()
    }

    /// `[[no-usage]]`: the answer has no token usage.
    pub fn hides_usage(&self) -> bool {
        self.argument("no-usage").is_some()
    }

    /// `[[absurd-usage]]`: the answer claims an impossible token usage.
    pub fn inflates_usage(&self) -> bool {
        self.argument("absurd-usage").is_some()
    }

    /// `[[stop NAME]]`: the exact finish reason.
    pub fn stop(&self) -> Option<&str> {
        self.argument("stop").filter(|name| !name.is_empty())
    }

    /// `[[missing]]` and `[[twice]]`: how often the item's line is in the results.
    pub fn copies(&self) -> u8 {
        if self.argument("missing").is_some() {
            0
        } else if self.argument("twice").is_some() {
            2
        } else {
            1
        }
    }

    /// `[[slow N]]`: a realtime answer takes N milliseconds.
    pub fn slow_ms(&self) -> Option<u64> {
        self.argument("slow")?.parse().ok()
    }

    fn argument(&self, wanted: &str) -> Option<&str> {
        let (_, argument) = self.found.iter().find(|(word, _)| word == wanted)?;
        Some(argument)
    }
}
