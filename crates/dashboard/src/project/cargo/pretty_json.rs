//! Formats JSON with line breaks and indents, without changing its values.

/// Returns at most `max_bytes`, and whether that is everything.
pub(crate) fn format_json(json: &str, max_bytes: usize) -> (String, bool) {
    let mut pretty = JsonPrinter::default();
    let mut letters = json.chars().peekable();
    while let Some(letter) = letters.next() {
        if pretty.text.len() + letter.len_utf8() > max_bytes {
            return (pretty.text, false);
        }
        pretty.read(letter, letters.peek().copied());
    }
    (pretty.text, true)
}

#[derive(Default)]
struct JsonPrinter {
    text: String,
    /// For each open object or array: whether its elements are on separate lines.
    open: Vec<bool>,
    in_string: bool,
    is_escaped: bool,
}

impl JsonPrinter {
    fn read(&mut self, letter: char, next: Option<char>) {
        if self.in_string {
            self.text.push(letter);
            self.in_string = self.is_escaped || letter != '"';
            self.is_escaped = letter == '\\' && !self.is_escaped;
            return;
        }
        match letter {
            '{' | '[' => {
                self.text.push(letter);
                let is_empty = matches!(next, Some('}' | ']'));
                // Vectors stay on one line.
                let is_numbers = letter == '[' && next.is_some_and(starts_number);
                self.open.push(!is_empty && !is_numbers);
                self.end_line();
            }
            '}' | ']' => {
                let was_broken = self.open.pop().unwrap_or_default();
                if was_broken {
                    self.indent();
                }
                self.text.push(letter);
            }
            ',' => {
                self.text.push(letter);
                if self.open.last() == Some(&false) {
                    self.text.push(' ');
                }
                self.end_line();
            }
            ':' => self.text.push_str(": "),
            letter if letter.is_ascii_whitespace() => {}
            letter => {
                self.in_string = letter == '"';
                self.text.push(letter);
            }
        }
    }

    fn end_line(&mut self) {
        if self.open.last() == Some(&true) {
            self.indent();
        }
    }

    fn indent(&mut self) {
        self.text.push('\n');
        for _ in &self.open {
            self.text.push_str("  ");
        }
    }
}

const fn starts_number(letter: char) -> bool {
    letter == '-' || letter.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn breaks_are_put_in_and_nothing_else_is_changed() {
        let json = r#"{"a":[1,-2.50],"b":{},"c":["x, {y}: \"[z]\\",null],"d":{"e":1e400}}"#;
        let (shown, is_all) = format_json(json, 1000);
        assert!(is_all);
        insta::assert_snapshot!(shown, @r#"
        {
          "a": [1, -2.50],
          "b": {},
          "c": [
            "x, {y}: \"[z]\\",
            null
          ],
          "d": {
            "e": 1e400
          }
        }
        "#);
    }

    #[test]
    fn it_ends_where_there_is_no_room() {
        let (shown, is_all) = format_json(r#"["ää","b"]"#, 7);
        assert_eq!((shown.as_str(), is_all), ("[\n  \"ä", false));
    }
}
