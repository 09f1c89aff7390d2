//! What is said, what is heard, and what is not.

use super::{hear, say};
use crate::file::{Flaw, MediaType, Structure};

#[test]
fn what_is_said_is_heard() {
    let cases = [
        (
            MediaType::Png,
            Ok(Structure::Image {
                width: 3,
                height: 4,
            }),
        ),
        (MediaType::Pdf, Ok(Structure::Pages(100))),
        (MediaType::Csv, Ok(Structure::Text)),
        (
            MediaType::Webm,
            Ok(Structure::Video {
                milliseconds: 1_800_000,
            }),
        ),
        (MediaType::Pdf, Err(Flaw::EncryptedDocument)),
        (MediaType::Mp4, Err(Flaw::VideoTooLong)),
        (MediaType::Gif, Err(Flaw::MalformedImage)),
    ];
    for (media_type, found) in cases {
        assert_eq!(hear(media_type, &say(found)), Some(found), "{found:?}");
    }
}

#[test]
fn a_child_that_lies_is_not_heard() {
    let cases = [
        (MediaType::Pdf, say(Ok(Structure::Pages(101)))),
        (MediaType::Pdf, say(Ok(Structure::Pages(0)))),
        (MediaType::Text, say(Ok(Structure::Pages(1)))),
        (MediaType::Pdf, say(Ok(Structure::Text))),
        (
            MediaType::Png,
            say(Ok(Structure::Image {
                width: 0,
                height: 4,
            })),
        ),
        (
            MediaType::Mp4,
            say(Ok(Structure::Image {
                width: 1,
                height: 4,
            })),
        ),
        (
            MediaType::Mp4,
            say(Ok(Structure::Video {
                milliseconds: 1_800_001,
            })),
        ),
        (MediaType::Mp4, say(Err(Flaw::MalformedImage))),
        (MediaType::Mp4, say(Err(Flaw::MalwareDetected))),
        (MediaType::Text, String::new()),
        (MediaType::Text, "text".to_owned()),
        (MediaType::Text, "\"text\" \"text\"".to_owned()),
        (MediaType::Pdf, "{\"pages\":-1}".to_owned()),
        (MediaType::Pdf, "{\"flaw\":\"tired\"}".to_owned()),
    ];
    for (media_type, line) in cases {
        assert_eq!(hear(media_type, &line), None, "{line}");
    }
}
