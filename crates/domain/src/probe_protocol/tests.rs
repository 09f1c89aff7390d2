//! Results survive encoding, and impossible lines are rejected.

use super::{decode_result, encode_result};
use crate::file::{FileFailureReason, FileStructure, MediaType};

#[test]
fn an_encoded_result_is_decoded() {
    let cases = [
        (
            MediaType::Png,
            Ok(FileStructure::Image {
                width: 3,
                height: 4,
            }),
        ),
        (MediaType::Pdf, Ok(FileStructure::Pages(100))),
        (MediaType::Csv, Ok(FileStructure::Text)),
        (
            MediaType::Webm,
            Ok(FileStructure::Video {
                milliseconds: 1_800_000,
            }),
        ),
        (MediaType::Pdf, Err(FileFailureReason::EncryptedDocument)),
        (MediaType::Mp4, Err(FileFailureReason::VideoTooLong)),
        (MediaType::Gif, Err(FileFailureReason::MalformedImage)),
    ];
    for (media_type, found) in cases {
        assert_eq!(
            decode_result(media_type, &encode_result(found)),
            Some(found),
            "{found:?}"
        );
    }
}

#[test]
fn an_impossible_line_is_rejected() {
    let cases = [
        (MediaType::Pdf, encode_result(Ok(FileStructure::Pages(101)))),
        (MediaType::Pdf, encode_result(Ok(FileStructure::Pages(0)))),
        (MediaType::Text, encode_result(Ok(FileStructure::Pages(1)))),
        (MediaType::Pdf, encode_result(Ok(FileStructure::Text))),
        (
            MediaType::Png,
            encode_result(Ok(FileStructure::Image {
                width: 0,
                height: 4,
            })),
        ),
        (
            MediaType::Mp4,
            encode_result(Ok(FileStructure::Image {
                width: 1,
                height: 4,
            })),
        ),
        (
            MediaType::Mp4,
            encode_result(Ok(FileStructure::Video {
                milliseconds: 1_800_001,
            })),
        ),
        (
            MediaType::Mp4,
            encode_result(Err(FileFailureReason::MalformedImage)),
        ),
        (
            MediaType::Mp4,
            encode_result(Err(FileFailureReason::MalwareDetected)),
        ),
        (MediaType::Text, String::new()),
        (MediaType::Text, "text".to_owned()),
        (MediaType::Text, "\"text\" \"text\"".to_owned()),
        (MediaType::Pdf, "{\"pages\":-1}".to_owned()),
        (MediaType::Pdf, "{\"flaw\":\"tired\"}".to_owned()),
    ];
    for (media_type, line) in cases {
        assert_eq!(decode_result(media_type, &line), None, "{line}");
    }
}
