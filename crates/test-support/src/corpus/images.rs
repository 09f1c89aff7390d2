//! Images: truncated, of absurd size, or with wrong lengths.

use domain::file::{FileStructure, MediaType};

use super::{CorpusBuilder, ExpectedResult};
use crate::sample_files::building_blocks::{deflated_zeros, length};
use crate::sample_files::images::{
    PNG_GREY, PNG_SIGNATURE, WEBP_PIXEL, gif_file, jpeg_file, png_chunk, png_file, webp_file,
};

const ONE: FileStructure = FileStructure::Image {
    width: 1,
    height: 1,
};

pub(super) fn add_files(shelf: &mut CorpusBuilder) {
    pngs(shelf);
    jpegs(shelf);
    gifs(shelf);
    webps(shelf);
}

fn png(width: u32, height: u32, extra: &[u8]) -> Vec<u8> {
    png_file([width, height], PNG_GREY, extra, &deflated_zeros(2))
}

fn pngs(shelf: &mut CorpusBuilder) {
    let mut put = |name: &str, bytes| shelf.add_malformed(name, MediaType::Png, bytes);
    for (width, height) in [
        (0, 0),
        (0, 1),
        (1, 0),
        (50_001, 1),
        (1, 50_001),
        (65_535, 65_535),
        (50_000, 50_000),
        (1 << 31, 1),
        (u32::MAX, u32::MAX),
    ] {
        put(&format!("of {width} by {height}"), png(width, height, b""));
    }
    let mut wrong = png(1, 1, b"");
    wrong[29] ^= 1;
    put("with a wrong checksum", wrong);
    let huge = [&u32::MAX.to_be_bytes(), b"tEXt".as_slice(), b"x"].concat();
    put("with a chunk of 4 GB", png(1, 1, &huge));
    let mut second = png(1, 1, b"");
    second.truncate(second.len() - 12);
    put("without an end", second);
    put(
        "without a header",
        [PNG_SIGNATURE, &png_chunk(b"IEND", b"")].concat(),
    );
    put("of a signature alone", PNG_SIGNATURE.to_vec());
    let profile = [b"p\0\0".as_slice(), &deflated_zeros(64 << 20)].concat();
    // The probe does not read the profile, so an image with a bomb in it is valid.
    let bomb = png(1, 1, &png_chunk(b"iCCP", &profile));
    shelf.add(
        "with a bomb as profile",
        MediaType::Png,
        bomb,
        ExpectedResult::Valid(ONE),
    );
    shelf.add_with_truncations(MediaType::Png, &png(1, 1, b""), ONE);
}

fn jpeg(width: u16, height: u16) -> Vec<u8> {
    jpeg_file([width, height], b"")
}

fn jpegs(shelf: &mut CorpusBuilder) {
    let sound = jpeg(1, 1);
    shelf.add_with_truncations(MediaType::Jpeg, &sound, ONE);
    let mut put = |name: &str, bytes| shelf.add_malformed(name, MediaType::Jpeg, bytes);
    for (width, height) in [(0, 1), (65_535, 65_535), (50_001, 1), (40_000, 40_000)] {
        put(&format!("of {width} by {height}"), jpeg(width, height));
    }
    let mut short = sound.clone();
    short[4..6].copy_from_slice(&[0, 0]);
    put("with a segment of no length", short);
    let mut long = sound;
    long[4..6].copy_from_slice(&[0xff, 0xff]);
    put("with a segment beyond the end", long);
    put("of marks alone", [0xff; 1000].to_vec());
    put(
        "of restarts alone",
        [0xff, 0xd8]
            .into_iter()
            .chain([0xff, 0xd0].repeat(500))
            .collect(),
    );
    let thumbnail = [
        b"\xff\xd8\xff\xe1\0\x06\xff\xd8\xff\xd9".as_slice(),
        &jpeg(1, 1)[2..40],
    ]
    .concat();
    put("cut off after its thumbnail", thumbnail);
}

fn gif(width: u16, height: u16, extra: &[u8]) -> Vec<u8> {
    gif_file([width, height], extra)
}

fn gifs(shelf: &mut CorpusBuilder) {
    shelf.add_with_truncations(MediaType::Gif, &gif(1, 1, b""), ONE);
    let frames = b"\x2c\0\0\0\0\x01\0\x01\0\0\x02\x02\x44\x01\0".repeat(100_000);
    shelf.add(
        "of many frames",
        MediaType::Gif,
        gif(1, 1, &frames),
        ExpectedResult::Valid(ONE),
    );
    let mut put = |name: &str, bytes| shelf.add_malformed(name, MediaType::Gif, bytes);
    put("of no size", gif(0, 0, b""));
    put("of 65535 by 65535", gif(65_535, 65_535, b""));
    put("with a block that is none", gif(1, 1, b"\x99"));
    put(
        "with a comment without end",
        gif(1, 1, &[b"\x21\xfe", [255; 600].as_slice()].concat()),
    );
    let mut colours = gif(1, 1, b"");
    colours[10] = 0x87;
    put("with colours that are not there", colours);
}

fn webps(shelf: &mut CorpusBuilder) {
    let pixels = WEBP_PIXEL;
    let length = length(pixels) + 4;
    shelf.add_with_truncations(MediaType::Webp, &webp_file(length, pixels), ONE);
    let mut put = |name: &str, bytes| shelf.add_malformed(name, MediaType::Webp, bytes);
    put("longer than it is", webp_file(length + 2, pixels));
    put("of 4 GB", webp_file(u32::MAX, pixels));
    put("of nothing", webp_file(4, b""));
    let chunk = |size: u32, flags: u8, sides: [u8; 6]| {
        let body = [&[flags, 0, 0, 0], sides.as_slice()].concat();
        [b"VP8X", size.to_le_bytes().as_slice(), &body].concat()
    };
    put(
        "extended without an image",
        webp_file(22, &chunk(10, 0, [0; 6])),
    );
    put(
        "animated without an animation",
        webp_file(22, &chunk(10, 2, [0; 6])),
    );
    put(
        "of 16 million pixels a side",
        webp_file(22, &chunk(10, 0, [0xff; 6])),
    );
    put(
        "with a chunk of 4 GB",
        webp_file(22, &chunk(u32::MAX, 0, [0; 6])),
    );
    put("of an unknown form", webp_file(12, b"VP9 \0\0\0\0"));
}
