//! Images: truncated, of absurd size, or with wrong lengths.

use domain::file::{FileStructure, MediaType};

use super::building_blocks::{crc, deflated_zeros};
use super::{CorpusBuilder, ExpectedResult};

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

fn chunk(kind: &[u8], body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).unwrap_or(u32::MAX).to_be_bytes();
    let checked = [kind, body].concat();
    [&length, checked.as_slice(), &crc(&checked).to_be_bytes()].concat()
}

const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

fn png(width: u32, height: u32, extra: &[u8]) -> Vec<u8> {
    let sides = [width.to_be_bytes(), height.to_be_bytes()].concat();
    let header = chunk(b"IHDR", &[sides.as_slice(), &[8, 0, 0, 0, 0]].concat());
    let pixels = chunk(b"IDAT", &deflated_zeros(2));
    let end = chunk(b"IEND", b"");
    [SIGNATURE, &header, extra, &pixels, &end].concat()
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
        [SIGNATURE, &chunk(b"IEND", b"")].concat(),
    );
    put("of a signature alone", SIGNATURE.to_vec());
    let profile = [b"p\0\0".as_slice(), &deflated_zeros(64 << 20)].concat();
    // The probe does not read the profile, so an image with a bomb in it is valid.
    let bomb = png(1, 1, &chunk(b"iCCP", &profile));
    shelf.add(
        "with a bomb as profile",
        MediaType::Png,
        bomb,
        ExpectedResult::Valid(ONE),
    );
    shelf.add_with_truncations(MediaType::Png, &png(1, 1, b""), ONE);
}

fn jpeg(width: u16, height: u16) -> Vec<u8> {
    let quantization = [b"\xff\xdb\0\x43\0".as_slice(), &[1; 64]].concat();
    let sides = [height.to_be_bytes(), width.to_be_bytes()].concat();
    let frame = [b"\xff\xc0\0\x0b\x08", sides.as_slice(), b"\x01\x01\x11\0"].concat();
    let table = |class: u8| [&[0xff, 0xc4, 0, 0x14, class, 1], [0; 15].as_slice(), &[0]].concat();
    let scan = b"\xff\xda\0\x08\x01\x01\0\0\x3f\0\x3f\xff\xd9";
    [
        b"\xff\xd8".as_slice(),
        &quantization,
        &frame,
        &table(0),
        &table(0x10),
        scan,
    ]
    .concat()
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

fn gif(width: u16, height: u16, between: &[u8]) -> Vec<u8> {
    let sides = [width.to_le_bytes(), height.to_le_bytes()].concat();
    let screen = [
        b"GIF89a",
        sides.as_slice(),
        &[0x80, 0, 0],
        &[0, 0, 0, 255, 255, 255],
    ]
    .concat();
    let image = b"\x2c\0\0\0\0\x01\0\x01\0\0\x02\x02\x44\x01\0";
    [screen.as_slice(), between, image, b"\x3b"].concat()
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

fn riff(length: u32, chunks: &[u8]) -> Vec<u8> {
    [b"RIFF", length.to_le_bytes().as_slice(), b"WEBP", chunks].concat()
}

fn webps(shelf: &mut CorpusBuilder) {
    let pixels = b"VP8L\x0e\0\0\0\x2f\0\0\0\0\x07\x10\x11\xfd\x0f\x44\x44\xff\x03";
    let length = u32::try_from(pixels.len() + 4).unwrap_or(u32::MAX);
    shelf.add_with_truncations(MediaType::Webp, &riff(length, pixels), ONE);
    let mut put = |name: &str, bytes| shelf.add_malformed(name, MediaType::Webp, bytes);
    put("longer than it is", riff(length + 2, pixels));
    put("of 4 GB", riff(u32::MAX, pixels));
    put("of nothing", riff(4, b""));
    let chunk = |size: u32, flags: u8, sides: [u8; 6]| {
        let body = [&[flags, 0, 0, 0], sides.as_slice()].concat();
        [b"VP8X", size.to_le_bytes().as_slice(), &body].concat()
    };
    put("extended without an image", riff(22, &chunk(10, 0, [0; 6])));
    put(
        "animated without an animation",
        riff(22, &chunk(10, 2, [0; 6])),
    );
    put(
        "of 16 million pixels a side",
        riff(22, &chunk(10, 0, [0xff; 6])),
    );
    put(
        "with a chunk of 4 GB",
        riff(22, &chunk(u32::MAX, 0, [0; 6])),
    );
    put("of an unknown form", riff(12, b"VP9 \0\0\0\0"));
}
