//! Server-sent events: lines become events.

/// One event. A comment is none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerEvent {
    /// `message` if the server names none.
    pub name: String,
    pub data: String,
}

/// Collects the lines of an event until the empty line that ends it.
#[derive(Debug, Default)]
pub struct EventParser {
    name: Option<String>,
    data: Vec<String>,
}

impl EventParser {
    /// The event that this line ends, if it ends one.
    pub fn push_line(&mut self, line: &str) -> Option<ServerEvent> {
        if line.is_empty() {
            return self.finish();
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.name = Some(value.to_owned()),
            "data" => self.data.push(value.to_owned()),
            // Comments, ids and retry times have no use here.
            _ => {}
        }
        None
    }

    fn finish(&mut self) -> Option<ServerEvent> {
        let name = self.name.take();
        let data = std::mem::take(&mut self.data);
        if name.is_none() && data.is_empty() {
            return None;
        }
        Some(ServerEvent {
            name: name.unwrap_or_else(|| "message".to_owned()),
            data: data.join("\n"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_end_at_empty_lines_and_comments_are_skipped() {
        let mut parser = EventParser::default();
        let lines = [
            ": keep-alive",
            "",
            "event: ready",
            "data: {\"a\":",
            "data:1}",
            "",
            "data: x",
            "",
        ];
        let events: Vec<_> = lines
            .iter()
            .filter_map(|line| parser.push_line(line))
            .map(|event| (event.name, event.data))
            .collect();
        let expected = [("ready", "{\"a\":\n1}"), ("message", "x")];
        assert_eq!(
            events,
            expected.map(|(name, data)| (name.to_owned(), data.to_owned()))
        );
    }
}
