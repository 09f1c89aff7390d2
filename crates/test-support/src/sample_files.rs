//! Small valid files of every media type, with different bytes at every call.

pub(crate) mod building_blocks;
pub mod images;
pub mod matroska;
pub mod mp4;
pub mod pdf;

use domain::file::MediaType;

pub fn valid_file(media_type: MediaType) -> Vec<u8> {
    match media_type {
        MediaType::Jpeg => images::jpeg(),
        MediaType::Png => images::png(),
        MediaType::Gif => images::gif(),
        MediaType::Webp => images::webp(),
        MediaType::Pdf => pdf::document(3),
        MediaType::Text => format!("Manifest {}\n", unique_text()).into_bytes(),
        MediaType::Csv => format!("crate,weight\n{},12\n", unique_text()).into_bytes(),
        MediaType::Markdown => format!("# Manifest\n\n- {}\n", unique_text()).into_bytes(),
        MediaType::Mp4 => mp4::mp4(),
        MediaType::QuickTime => mp4::quicktime(),
        MediaType::Webm => matroska::webm(),
        MediaType::Matroska => matroska::matroska(),
    }
}

pub fn unique_text() -> String {
    format!("{:016x}", rand::random::<u64>())
}

/// Text of this size.
pub fn text(size: usize) -> Vec<u8> {
    let mut text = valid_file(MediaType::Text);
    let line = b"one crate of oranges, one crate of lemons\n";
    while text.len() < size {
        text.extend_from_slice(line);
    }
    text.truncate(size);
    text
}

/// The EICAR test file, in two halves so that scanners do not report this source file.
pub fn eicar() -> Vec<u8> {
    [
        br"X5O!P%@AP[4\PZX54(P^)7CC)7}".as_slice(),
        br"$EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*",
    ]
    .concat()
}
