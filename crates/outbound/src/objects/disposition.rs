//! The name under which a browser saves a file: RFC 6266, with RFC 5987 for what is not ASCII.

use super::sign::encode;

/// Some stores and proxies refuse long headers.
const LONGEST: usize = 150;

/// `attachment` and the name. No control character and no quote of the caller's gets through.
pub(super) fn attachment(filename: &str) -> String {
    let name: String = filename
        .chars()
        .map(|c| match c {
            // A separator would name a folder.
            '/' | '\\' => '_',
            c if is_unseen(c) => ' ',
            c => c,
        })
        .take(LONGEST)
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
        let encoded = encode(name);
        format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{encoded}")
    }
}

/// Control characters, and those that turn the direction of a text to hide an ending.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_plain_name_is_quoted_and_another_is_told_twice() {
        for (name, told) in [
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
            assert_eq!(attachment(name), told);
        }
    }

    proptest! {
        #[test]
        fn whatever_the_name_the_header_stays_one_header(name in any::<String>()) {
            let told = attachment(&name);
            prop_assert!(told.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
            prop_assert_eq!(told.matches('"').count(), 2);
            prop_assert!(!told.contains(['/', '\\']));
            prop_assert!(told.len() < 2200);
        }
    }
}
