//! The `Content-Disposition` of a download: RFC 6266, with RFC 5987 for non-ASCII names.

use crate::percent_encoding::percent_encode;

/// Some stores and proxies refuse long headers.
const MAX_FILENAME_CHARS: usize = 150;

/// `attachment` and the name, without the caller's control characters and quotes.
pub(super) fn attachment(filename: &str) -> String {
    let name: String = filename
        .chars()
        .map(|c| match c {
            // A separator would name a folder.
            '/' | '\\' => '_',
            c if is_invisible(c) => ' ',
            c => c,
        })
        .take(MAX_FILENAME_CHARS)
        .collect();
    let name = match name.trim().trim_start_matches('.') {
        "" => "file",
        name => name,
    };
    let plain: String = name
        .chars()
        .map(|c| match c {
            '"' | '%' | ';' => '_',
            c if c.is_ascii() => c,
            _ => '_',
        })
        .collect();
    if plain == name {
        format!("attachment; filename=\"{plain}\"")
    } else {
        let encoded = percent_encode(name);
        format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{encoded}")
    }
}

/// Control characters, and direction overrides that can hide a file's extension.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_plain_name_is_quoted_and_another_is_written_twice() {
        for (name, header) in [
            ("plan.pdf", r#"attachment; filename="plan.pdf""#),
            ("a b.pdf", r#"attachment; filename="a b.pdf""#),
            (
                "grüße.pdf",
                r#"attachment; filename="gr__e.pdf"; filename*=UTF-8''gr%C3%BC%C3%9Fe.pdf"#,
            ),
            (
                "a\"; filename=b.exe",
                r#"attachment; filename="a__ filename=b.exe"; filename*=UTF-8''a%22%3B%20filename%3Db.exe"#,
            ),
            (
                "x\r\nSet-Cookie: y",
                r#"attachment; filename="x  Set-Cookie: y""#,
            ),
            (
                "../../etc/passwd",
                r#"attachment; filename="_.._etc_passwd""#,
            ),
            ("..", r#"attachment; filename="file""#),
            ("\u{202e}fdp.exe", r#"attachment; filename="fdp.exe""#),
        ] {
            assert_eq!(attachment(name), header);
        }
    }

    proptest! {
        #[test]
        fn any_name_makes_one_header(name in any::<String>()) {
            let header = attachment(&name);
            prop_assert!(header.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
            prop_assert_eq!(header.matches('"').count(), 2);
            prop_assert!(!header.contains(['/', '\\']));
            prop_assert!(header.len() < 2200);
        }
    }
}
