//! Building blocks of the sample files and of the corpus.

/// Decodes a hex literal.
pub(crate) fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u32> = digits.chars().map(|c| c.to_digit(16).unwrap()).collect();
    let bytes = digits.chunks(2).map(|pair| pair[0] * 16 + pair[1]);
    bytes.map(|byte| u8::try_from(byte).unwrap()).collect()
}

pub(crate) fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap()
}

/// A box of ISO media.
pub(crate) fn atom(kind: &[u8], body: &[u8]) -> Vec<u8> {
    atom_with_length(length(body) + 8, kind, body)
}

/// A box with the given length, which may be wrong.
pub(crate) fn atom_with_length(length: u32, kind: &[u8], body: &[u8]) -> Vec<u8> {
    [length.to_be_bytes().as_slice(), kind, body].concat()
}

/// A box with a length of 64 bits.
pub(crate) fn long_atom(length: u64, kind: &[u8], body: &[u8]) -> Vec<u8> {
    [[0, 0, 0, 1].as_slice(), kind, &length.to_be_bytes(), body].concat()
}

/// Numbers of 32 bits, one after the other.
pub(crate) fn numbers(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|it| it.to_be_bytes()).collect()
}

/// An element of EBML, with a size of eight bytes.
pub(crate) fn element(id: u32, body: &[u8]) -> Vec<u8> {
    element_with_size(id, body.len() as u64, body)
}

pub(crate) fn element_with_size(id: u32, size: u64, body: &[u8]) -> Vec<u8> {
    let id = id.to_be_bytes();
    let begins = id.iter().position(|byte| *byte != 0).unwrap_or(0);
    let size = ((size & ((1 << 56) - 1)) | (1 << 56)).to_be_bytes();
    [&id[begins..], &size, body].concat()
}

/// An element that does not state its size.
pub(crate) fn element_of_unknown_size(id: u32, body: &[u8]) -> Vec<u8> {
    element_with_size(id, u64::MAX, body)
}

/// A zlib stream of one byte, repeated: a decompression bomb, made without a compressor.
///
/// It is one fixed block: the byte, then copies of the 258 bytes before.
pub(crate) fn deflated_zeros(length: usize) -> Vec<u8> {
    let mut bits = BitWriter::default();
    // Last block, fixed codes.
    bits.push_low_first(0b011, 3);
    // The literal 0 is the code 00110000.
    bits.push_high_first(0b0011_0000, 8);
    for _ in 0..length.saturating_sub(1) / 258 {
        // Length 258 is the code 11000101, distance 1 the code 00000.
        bits.push_high_first(0b1100_0101, 8);
        bits.push_high_first(0, 5);
    }
    // The end is the code 0000000.
    bits.push_high_first(0, 7);
    let inflated = 1 + length.saturating_sub(1) / 258 * 258;
    [
        &[0x78, 0x01],
        bits.finish().as_slice(),
        &adler_of_zeros(inflated),
    ]
    .concat()
}

/// The Adler-32 checksum of that many zeros.
fn adler_of_zeros(length: usize) -> [u8; 4] {
    let second = u32::try_from(length % 65_521).unwrap_or(0);
    ((second << 16) | 1).to_be_bytes()
}

/// Bits as deflate packs them.
#[derive(Default)]
struct BitWriter {
    bytes: Vec<u8>,
    current: u8,
    filled: u8,
}

impl BitWriter {
    fn push_bit(&mut self, bit: u32) {
        self.current |= u8::from(bit & 1 == 1) << self.filled;
        self.filled += 1;
        if self.filled == 8 {
            self.bytes.push(self.current);
            (self.current, self.filled) = (0, 0);
        }
    }

    fn push_low_first(&mut self, bits: u32, count: u32) {
        (0..count).for_each(|at| self.push_bit(bits >> at));
    }

    fn push_high_first(&mut self, bits: u32, count: u32) {
        (0..count).rev().for_each(|at| self.push_bit(bits >> at));
    }

    fn finish(mut self) -> Vec<u8> {
        if self.filled > 0 {
            self.bytes.push(self.current);
        }
        self.bytes
    }
}

/// The CRC-32 that ends a chunk of PNG.
pub(crate) fn crc(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            let odd = crc & 1;
            crc = (crc >> 1) ^ (0xedb8_8320 * odd);
        }
    }
    !crc
}
