//! What a scanner is tried with: the test file that all scanners know, plain and packed.

/// In two halves, lest a scanner takes our own program for it.
const EICAR: [&str; 2] = [
    r"X5O!P%@AP[4\PZX54(P^)7CC)7}$EICAR-STANDARD-",
    r"ANTIVIRUS-TEST-FILE!$H+H*",
];
/// More than any clamd can be told to unpack.
const TOO_DEEP: u32 = 120;

pub(super) fn eicar() -> Vec<u8> {
    EICAR.concat().into_bytes()
}

/// New every time: what clamd once found clean it does not look at again.
pub(super) fn harmless() -> Vec<u8> {
    format!("nothing to see here: {:032x}\n", rand::random::<u128>()).into_bytes()
}

/// Squeezed, so that its bytes are nowhere to be seen from outside.
pub(super) fn packed_eicar() -> Vec<u8> {
    let inside = eicar();
    gzip(&inside, &spelled(&inside))
}

/// Packed so many times over that the inside is never seen.
pub(super) fn too_deep() -> Vec<u8> {
    (0..TOO_DEEP).fold(harmless(), |inside, _| gzip(&inside, &stored(&inside)))
}

/// `deflated` is what is inside, as the deflate format writes it.
fn gzip(inside: &[u8], deflated: &[u8]) -> Vec<u8> {
    let length = u32::try_from(inside.len()).unwrap_or(u32::MAX);
    [
        // Magic number, deflate, no flags, no time, unknown system.
        &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff],
        deflated,
        &crc32(inside).to_le_bytes(),
        &length.to_le_bytes(),
    ]
    .concat()
}

/// One block, the last one, with its bytes as they are. For less than 64 KB.
fn stored(inside: &[u8]) -> Vec<u8> {
    let length = u16::try_from(inside.len()).unwrap_or(u16::MAX);
    [
        [1].as_slice(),
        &length.to_le_bytes(),
        &(!length).to_le_bytes(),
        inside,
    ]
    .concat()
}

/// One block, the last one, of the codes that deflate has for single bytes. For ASCII.
fn spelled(inside: &[u8]) -> Vec<u8> {
    // "Last", "codes as agreed", the codes from their highest bit on, and seven zeros for the end.
    let mut bits = vec![1, 1, 0];
    for byte in inside {
        let code = byte.wrapping_add(0x30);
        bits.extend((0..8).rev().map(|place| (code >> place) & 1));
    }
    bits.extend([0; 7]);
    let byte = |bits: &[u8]| bits.iter().rev().fold(0, |byte, bit| (byte << 1) | bit);
    bits.chunks(8).map(byte).collect()
}

fn crc32(bytes: &[u8]) -> u32 {
    let crc = bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
        })
    });
    !crc
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_usual_one() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
    }

    #[test]
    fn the_samples_are_small() {
        assert_eq!(eicar().len(), 68);
        assert!(too_deep().len() < 4096);
    }

    #[test]
    fn the_packed_one_does_not_show_what_is_inside() {
        let packed = packed_eicar();
        assert!(!packed.windows(8).any(|shown| eicar().starts_with(shown)));
        // As zlib unpacks it: "a" is 0x4b 0x04 0x00.
        assert_eq!(spelled(b"a"), [0x4b, 0x04, 0x00]);
    }
}
