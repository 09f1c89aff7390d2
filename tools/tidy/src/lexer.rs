//! A lexer for Rust: words, punctuation and string literals, without comments.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind<'text> {
    /// An identifier, a keyword or a number.
    Word(&'text str),
    /// One character of punctuation.
    Punctuation(char),
    /// `::`.
    PathSeparator,
    /// The content of a string literal, with escapes as written.
    StringLiteral(&'text str),
}

#[derive(Debug, Clone, Copy)]
pub struct RustToken<'text> {
    pub line: usize,
    pub kind: TokenKind<'text>,
}

impl RustToken<'_> {
    pub fn is_punctuation(&self, mark: char) -> bool {
        self.kind == TokenKind::Punctuation(mark)
    }
}

pub fn lex(text: &str) -> Vec<RustToken<'_>> {
    let mut reader = Lexer {
        rest: text,
        line: 1,
    };
    let mut tokens = Vec::new();
    while let Some(first) = reader.rest.chars().next() {
        let line = reader.line;
        if let Some(kind) = reader.next(first) {
            tokens.push(RustToken { line, kind });
        }
    }
    tokens
}

/// The tokens outside of test code, and the names of test modules.
pub fn without_tests<'text>(
    tokens: &[RustToken<'text>],
) -> (Vec<RustToken<'text>>, Vec<&'text str>) {
    let mut kept = Vec::new();
    let mut test_modules = Vec::new();
    let mut rest = tokens;
    while let Some((first, after)) = rest.split_first() {
        if let Some(item) = after_test_attribute(rest) {
            let (skipped, following) = split_item(item);
            if let [.., module, end] = skipped
                && end.is_punctuation(';')
                && let TokenKind::Word(name) = module.kind
                && skipped
                    .iter()
                    .any(|token| token.kind == TokenKind::Word("mod"))
            {
                test_modules.push(name);
            }
            rest = following;
        } else {
            kept.push(*first);
            rest = after;
        }
    }
    (kept, test_modules)
}

/// The tokens after `#[cfg(test)]` or `#![cfg(test)]`, if the tokens begin with it.
fn after_test_attribute<'a, 'text>(
    tokens: &'a [RustToken<'text>],
) -> Option<&'a [RustToken<'text>]> {
    let (first, mut rest) = tokens.split_first()?;
    if !first.is_punctuation('#') {
        return None;
    }
    if let Some((bang, inner)) = rest.split_first()
        && bang.is_punctuation('!')
    {
        rest = inner;
    }
    let length = rest.iter().position(|token| token.is_punctuation(']'))?;
    let (attribute, after) = rest.split_at_checked(length + 1)?;
    let says = |word| {
        attribute
            .iter()
            .any(|token| token.kind == TokenKind::Word(word))
    };
    (says("cfg") && says("test") && !says("not")).then_some(after)
}

/// One item with its attributes, and the tokens after it.
fn split_item<'a, 'text>(
    tokens: &'a [RustToken<'text>],
) -> (&'a [RustToken<'text>], &'a [RustToken<'text>]) {
    let mut depth = 0_usize;
    let imports = tokens.iter().find_map(|token| match token.kind {
        TokenKind::Word("use") => Some(true),
        TokenKind::Word("mod" | "fn" | "struct" | "enum" | "impl" | "trait" | "const") => {
            Some(false)
        }
        TokenKind::Word(_)
        | TokenKind::Punctuation(_)
        | TokenKind::PathSeparator
        | TokenKind::StringLiteral(_) => None,
    });
    for (index, token) in tokens.iter().enumerate() {
        let ends = match token.kind {
            TokenKind::Punctuation('{' | '(' | '[') => {
                depth += 1;
                false
            }
            TokenKind::Punctuation(close @ ('}' | ')' | ']')) => {
                depth = depth.saturating_sub(1);
                depth == 0 && close == '}' && imports != Some(true)
            }
            TokenKind::Punctuation(';') => depth == 0,
            TokenKind::Word(_)
            | TokenKind::Punctuation(_)
            | TokenKind::PathSeparator
            | TokenKind::StringLiteral(_) => false,
        };
        if ends {
            return tokens.split_at_checked(index + 1).unwrap_or((tokens, &[]));
        }
    }
    (tokens, &[])
}

struct Lexer<'text> {
    rest: &'text str,
    line: usize,
}

impl<'text> Lexer<'text> {
    fn next(&mut self, first: char) -> Option<TokenKind<'text>> {
        if first.is_whitespace() {
            self.take(first.len_utf8());
            return None;
        }
        if self.rest.starts_with("//") {
            self.take(self.rest.find('\n').unwrap_or(self.rest.len()));
            return None;
        }
        if self.rest.starts_with("/*") {
            self.block_comment();
            return None;
        }
        if let Some(text) = self.string() {
            return Some(TokenKind::StringLiteral(text));
        }
        if first.is_alphanumeric() || first == '_' {
            return Some(TokenKind::Word(self.word()));
        }
        if first == '\'' {
            self.character_or_lifetime();
            return None;
        }
        if self.rest.starts_with("::") {
            self.take(2);
            return Some(TokenKind::PathSeparator);
        }
        self.take(first.len_utf8());
        Some(TokenKind::Punctuation(first))
    }

    /// Advances by that many bytes and returns them.
    fn take(&mut self, length: usize) -> &'text str {
        let (taken, rest) = self
            .rest
            .split_at_checked(length)
            .unwrap_or((self.rest, ""));
        self.line += taken.matches('\n').count();
        self.rest = rest;
        taken
    }

    fn word(&mut self) -> &'text str {
        let end = self.rest.find(|c: char| !c.is_alphanumeric() && c != '_');
        self.take(end.unwrap_or(self.rest.len()))
    }

    /// Block comments nest.
    fn block_comment(&mut self) {
        let mut depth = 0_usize;
        loop {
            if self.rest.starts_with("/*") {
                depth += 1;
                self.take(2);
            } else if self.rest.starts_with("*/") {
                depth -= 1;
                self.take(2);
            } else {
                let Some(skipped) = self.rest.chars().next() else {
                    return;
                };
                self.take(skipped.len_utf8());
            }
            if depth == 0 {
                return;
            }
        }
    }

    /// A string literal of any kind: plain, raw, byte or C.
    fn string(&mut self) -> Option<&'text str> {
        let after_prefix = self.rest.trim_start_matches(['b', 'c']);
        let prefix = self.rest.len() - after_prefix.len();
        if prefix > 1 {
            return None;
        }
        if let Some(after_r) = after_prefix.strip_prefix('r') {
            let after_hashes = after_r.trim_start_matches('#');
            let hashes = after_r.len() - after_hashes.len();
            if !after_hashes.starts_with('"') {
                return None;
            }
            self.take(prefix + 1 + hashes + 1);
            let close = format!("\"{}", "#".repeat(hashes));
            let text = self.take(self.rest.find(&close).unwrap_or(self.rest.len()));
            self.take(close.len());
            return Some(text);
        }
        if !after_prefix.starts_with('"') {
            return None;
        }
        self.take(prefix + 1);
        let mut escaped = false;
        let end = self.rest.find(|c: char| {
            let closes = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            closes
        });
        let text = self.take(end.unwrap_or(self.rest.len()));
        self.take(1);
        Some(text)
    }

    /// `'a'` and `'\n'` are characters, `'a` alone is a lifetime or a label.
    fn character_or_lifetime(&mut self) {
        self.take(1);
        if self.rest.starts_with('\\') {
            self.take(2);
            self.take(self.rest.find('\'').map_or(self.rest.len(), |end| end + 1));
            return;
        }
        let mut following = self.rest.chars();
        if let Some(character) = following.next()
            && following.next() == Some('\'')
        {
            self.take(character.len_utf8() + 1);
        }
    }
}

#[cfg(test)]
mod tests;
