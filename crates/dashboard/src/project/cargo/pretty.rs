//! JSON with breaks and indents, every character of it as it was stored.

/// At most so many bytes, and whether that was all.
pub(crate) fn pretty(json: &str, most: usize) -> (String, bool) {
    let mut pretty = Pretty::default();
    let mut letters = json.chars().peekable();
    while let Some(letter) = letters.next() {
        if pretty.text.len() + letter.len_utf8() > most {
            return (pretty.text, false);
        }
        pretty.read(letter, letters.peek().copied());
    }
    (pretty.text, true)
}

#[derive(Default)]
struct Pretty {
    text: String,
    /// What is open: whether its parts stand on lines of their own.
    open: Vec<bool>,
    in_string: bool,
    is_escaped: bool,
}

impl Pretty {
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
                // A vector reads better in one piece.
                let is_numbers = letter == '[' && next.is_some_and(is_of_number);
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

const fn is_of_number(letter: char) -> bool {
    letter == '-' || letter.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn breaks_are_put_in_and_nothing_else_is_changed() {
        let json = r#"{"a":[1,-2.50],"b":{},"c":["x, {y}: \"[z]\\",null],"d":{"e":1e400}}"#;
        let (shown, is_all) = pretty(json, 1000);
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
        let (shown, is_all) = pretty(r#"["ää","b"]"#, 7);
        assert_eq!((shown.as_str(), is_all), ("[\n  \"ä", false));
    }
}
