//! Small valid files of every media type, with different bytes at every call.

use std::fmt::Write as _;

use domain::file::MediaType;

pub(crate) fn unique_text() -> String {
    format!("{:016x}", rand::random::<u64>())
}

pub(crate) fn valid_file(media_type: MediaType) -> Vec<u8> {
    match media_type {
        MediaType::Jpeg => jpeg(),
        MediaType::Png => png(),
        MediaType::Gif => gif(),
        MediaType::Webp => webp(),
        MediaType::Pdf => pdf(3),
        MediaType::Text => format!("Manifest {}\n", unique_text()).into_bytes(),
        MediaType::Csv => format!("crate,weight\n{},12\n", unique_text()).into_bytes(),
        MediaType::Markdown => format!("# Manifest\n\n- {}\n", unique_text()).into_bytes(),
        MediaType::Mp4 => iso_media(b"isom\0\0\x02\0isomiso2avc1mp41"),
        MediaType::QuickTime => iso_media(b"qt  \0\0\x02\0qt  "),
        MediaType::Webm => ebml("webm"),
        MediaType::Matroska => ebml("matroska"),
    }
}

/// Text of this size.
pub(crate) fn text(size: usize) -> Vec<u8> {
    let mut text = format!("Manifest {}\n", unique_text()).into_bytes();
    let line = b"one crate of oranges, one crate of lemons\n";
    while text.len() < size {
        text.extend_from_slice(line);
    }
    text.truncate(size);
    text
}

/// The EICAR test file, in two halves so that scanners do not report this source file.
pub(crate) fn eicar() -> Vec<u8> {
    [
        br"X5O!P%@AP[4\PZX54(P^)7CC)7}".as_slice(),
        br"$EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*",
    ]
    .concat()
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().map(|c| c.to_digit(16).unwrap()).collect();
    let bytes = digits.chunks(2).map(|pair| pair[0] * 16 + pair[1]);
    bytes.map(|byte| u8::try_from(byte).unwrap()).collect()
}

fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap()
}

fn jpeg() -> Vec<u8> {
    let comment = unique_text();
    let size = u16::try_from(comment.len() + 2).unwrap().to_be_bytes();
    [
        hex("ffd8ffe000104a46494600010100000100010000"),
        [b"\xff\xfe".as_slice(), &size, comment.as_bytes()].concat(),
        hex("ffdb00430050373c463c32504641465a55505f78c882786e6e78f5afb991c8ffffffffffffffffffffffffff\
             ffffffffffffffffffffffffffffffffffffffffffffffffffffc0000b080001000101011100ffc40014000\
             100000000000000000000000000000000ffc40014100100000000000000000000000000000000ffda000801\
             0100003f003fffd9"),
    ]
    .concat()
}

fn png() -> Vec<u8> {
    let pixels: Vec<u8> = (0..4)
        .flat_map(|_| [vec![0], rand::random::<[u8; 12]>().to_vec()].concat())
        .collect();
    let size = u16::try_from(pixels.len()).unwrap();
    // One uncompressed zlib block.
    let stored = [
        b"\x78\x01\x01".as_slice(),
        &size.to_le_bytes(),
        &(!size).to_le_bytes(),
        &pixels,
        &adler32(&pixels).to_be_bytes(),
    ];
    [
        b"\x89PNG\r\n\x1a\n".to_vec(),
        png_chunk(*b"IHDR", &hex("00000004000000040802000000")),
        png_chunk(*b"IDAT", &stored.concat()),
        png_chunk(*b"IEND", b""),
    ]
    .concat()
}

fn png_chunk(name: [u8; 4], body: &[u8]) -> Vec<u8> {
    let named = [name.as_slice(), body].concat();
    let sum = crc32(&named).to_be_bytes();
    [length(body).to_be_bytes().as_slice(), &named, &sum].concat()
}

fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| {
        if crc & 1 == 1 {
            crc >> 1 ^ 0xedb8_8320
        } else {
            crc >> 1
        }
    };
    !bytes
        .iter()
        .fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

fn adler32(bytes: &[u8]) -> u32 {
    let (a, b) = bytes.iter().fold((1, 0), |(a, b), byte| {
        let a = (a + u32::from(*byte)) % 65521;
        (a, (b + a) % 65521)
    });
    b << 16 | a
}

fn gif() -> Vec<u8> {
    let comment = unique_text();
    let size = u8::try_from(comment.len()).unwrap();
    [
        b"GIF89a".to_vec(),
        hex("01000100800000000000ffffff"),
        [b"\x21\xfe".as_slice(), &[size], comment.as_bytes(), b"\0"].concat(),
        hex("2c00000000010001000002024401003b"),
    ]
    .concat()
}

fn webp() -> Vec<u8> {
    let chunk = |name: &[u8; 4], body: &[u8]| {
        let padding = vec![0; body.len() % 2];
        [name.as_slice(), &length(body).to_le_bytes(), body, &padding].concat()
    };
    let body = [
        b"WEBP".to_vec(),
        chunk(b"VP8X", &hex("04000000000000000000")),
        chunk(b"VP8L", &hex("2f00000000071011fd0f4444ff03")),
        chunk(b"XMP ", unique_text().as_bytes()),
    ];
    chunk(b"RIFF", &body.concat())
}

pub(crate) fn pdf(pages: usize) -> Vec<u8> {
    let kids: Vec<_> = (0..pages).map(|page| format!("{} 0 R", page + 3)).collect();
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!(
            "<< /Type /Pages /Kids [{}] /Count {pages} >>",
            kids.join(" ")
        ),
    ];
    let page = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] /Resources << >> >>";
    objects.resize(pages + 2, page.to_owned());
    let mut out = format!("%PDF-1.4\n%{}\n", unique_text());
    let mut table = format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for (number, body) in (1..).zip(&objects) {
        writeln!(table, "{:010} 00000 n ", out.len()).unwrap();
        writeln!(out, "{number} 0 obj\n{body}\nendobj").unwrap();
    }
    let (size, start) = (objects.len() + 1, out.len());
    out += &table;
    let trailer = format!("trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n");
    [out, trailer].concat().into_bytes()
}

fn atom(name: [u8; 4], parts: &[&[u8]]) -> Vec<u8> {
    let body = parts.concat();
    [&(length(&body) + 8).to_be_bytes(), name.as_slice(), &body].concat()
}

/// Encodes big-endian numbers of four bytes each.
fn encode_u32s(numbers: &[u32]) -> Vec<u8> {
    numbers
        .iter()
        .flat_map(|number| number.to_be_bytes())
        .collect()
}

/// One frame of 16 by 16, shown for a second.
fn iso_media(brands: &[u8]) -> Vec<u8> {
    let frame = hex("00000006658882025e4f");
    let head = [
        atom(*b"ftyp", &[brands]),
        atom(*b"free", &[unique_text().as_bytes()]),
    ]
    .concat();
    let media = atom(*b"mdat", &[&frame[..]]);
    let matrix = encode_u32s(&[0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x4000_0000]);
    let table = atom(
        *b"stbl",
        &[
            &sample_description(),
            &atom(*b"stts", &[&encode_u32s(&[0, 1, 1, 1000])]),
            &atom(*b"stsc", &[&encode_u32s(&[0, 1, 1, 1, 1])]),
            &atom(*b"stsz", &[&encode_u32s(&[0, 0, 1, length(&frame)])]),
            &atom(*b"stco", &[&encode_u32s(&[0, 1, length(&head) + 8])]),
        ],
    );
    let reference = atom(
        *b"dref",
        &[
            &encode_u32s(&[0, 1]),
            &atom(*b"url ", &[&encode_u32s(&[1])]),
        ],
    );
    let info = atom(
        *b"minf",
        &[
            &atom(*b"vmhd", &[&encode_u32s(&[1, 0, 0])]),
            &atom(*b"dinf", &[&reference]),
            &table,
        ],
    );
    let handler = [
        encode_u32s(&[0, 0]),
        b"vide".to_vec(),
        vec![0; 12],
        b"video\0".to_vec(),
    ];
    let track = atom(
        *b"trak",
        &[
            &atom(
                *b"tkhd",
                &[
                    &encode_u32s(&[3, 0, 0, 1, 0, 1000, 0, 0, 0, 0]),
                    &matrix,
                    &encode_u32s(&[16 << 16, 16 << 16]),
                ],
            ),
            &atom(
                *b"mdia",
                &[
                    &atom(
                        *b"mdhd",
                        &[&encode_u32s(&[0, 0, 0, 1000, 1000, 0x55c4_0000])],
                    ),
                    &atom(*b"hdlr", &[&handler.concat()]),
                    &info,
                ],
            ),
        ],
    );
    let movie = atom(
        *b"moov",
        &[
            &atom(
                *b"mvhd",
                &[
                    &encode_u32s(&[0, 0, 0, 1000, 1000, 0x10000, 0x0100_0000, 0, 0]),
                    &matrix,
                    &encode_u32s(&[0, 0, 0, 0, 0, 0, 2]),
                ],
            ),
            &track,
        ],
    );
    [head, media, movie].concat()
}

/// A video of more than 50 MB, mostly padding.
pub(crate) fn large_video() -> Vec<u8> {
    let padding = vec![0; 52 << 20];
    [valid_file(MediaType::Mp4), atom(*b"free", &[&padding])].concat()
}

fn sample_description() -> Vec<u8> {
    let sps = hex("6742c00aa6117a1000000300100000030328f1226118");
    let pps = hex("68c8420f2c80");
    let avcc = atom(
        *b"avcC",
        &[
            b"\x01",
            &sps[1..4],
            b"\xff\xe1\0\x16",
            &sps,
            b"\x01\0\x06",
            &pps,
        ],
    );
    let entry = [
        hex("0000000000000001"),
        vec![0; 16],
        hex("00100010004800000048000000000000"),
        hex("0001"),
        vec![0; 32],
        hex("0018ffff"),
    ];
    let entry = atom(*b"avc1", &[&entry.concat(), &avcc]);
    atom(*b"stsd", &[&encode_u32s(&[0, 1]), &entry])
}

fn element(id: &str, body: &[u8]) -> Vec<u8> {
    let size = u64::from(length(body)) | 1 << 56;
    [&hex(id), size.to_be_bytes().as_slice(), body].concat()
}

/// One frame of 16 by 16, shown for a second.
fn ebml(doctype: &str) -> Vec<u8> {
    let head = [
        element("4286", b"\x01"),
        element("42f7", b"\x01"),
        element("42f2", b"\x04"),
        element("42f3", b"\x08"),
        element("4282", doctype.as_bytes()),
        element("4287", b"\x02"),
        element("4285", b"\x02"),
    ];
    let info = [
        element("2ad7b1", b"\x0f\x42\x40"),
        element("4489", &1000_f64.to_be_bytes()),
        element("4d80", b"test"),
        element("5741", unique_text().as_bytes()),
    ];
    let video = [element("b0", b"\x10"), element("ba", b"\x10")].concat();
    let track = [
        element("d7", b"\x01"),
        element("73c5", b"\x01"),
        element("83", b"\x01"),
        element("86", b"V_VP8"),
        element("e0", &video),
    ];
    let frame = "1002009d012a100010000047088585888584880202000619680000";
    let block = [hex("81000080"), hex(frame)].concat();
    let cluster = [element("e7", b"\0"), element("a3", &block)].concat();
    let segment = [
        element("1549a966", &info.concat()),
        element("1654ae6b", &element("ae", &track.concat())),
        element("1f43b675", &cluster),
    ];
    [
        element("1a45dfa3", &head.concat()),
        element("18538067", &segment.concat()),
    ]
    .concat()
}
