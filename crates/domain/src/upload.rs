//! An upload session: one POST for a small file, multipart for a large one.

const MB: u64 = 1 << 20;

/// Files up to this size are uploaded in one POST.
pub const MAX_SINGLE_SHOT_BYTES: u64 = 8 * MB;
/// Every part but the last has exactly this size.
pub const PART_BYTES: u64 = 16 * MB;
/// How many upload sessions a project may have open.
pub const MAX_UPLOAD_SESSIONS: u64 = 20;

/// How the bytes of a file are uploaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UploadMethod {
    SingleShot,
    Multipart { parts: u32 },
}

impl UploadMethod {
    pub fn of(size_bytes: u64) -> Self {
        if size_bytes <= MAX_SINGLE_SHOT_BYTES {
            return Self::SingleShot;
        }
        let parts = size_bytes.div_ceil(PART_BYTES);
        Self::Multipart {
            parts: u32::try_from(parts).unwrap_or(u32::MAX),
        }
    }
}

/// The size of a part, numbered from 1. None after the last.
pub fn part_bytes(size_bytes: u64, number: u32) -> Option<u64> {
    let before = u64::from(number.checked_sub(1)?) * PART_BYTES;
    let left = size_bytes.checked_sub(before).filter(|left| *left > 0)?;
    Some(left.min(PART_BYTES))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn eight_mb_are_one_shot_and_a_byte_more_is_a_part() {
        assert_eq!(UploadMethod::of(8 * MB), UploadMethod::SingleShot);
        assert_eq!(
            UploadMethod::of(8 * MB + 1),
            UploadMethod::Multipart { parts: 1 }
        );
        assert_eq!(
            UploadMethod::of(1024 * MB),
            UploadMethod::Multipart { parts: 64 }
        );
        assert_eq!(part_bytes(PART_BYTES + 1, 0), None);
        assert_eq!(part_bytes(PART_BYTES + 1, 2), Some(1));
        assert_eq!(part_bytes(PART_BYTES + 1, 3), None);
    }

    proptest! {
        #[test]
        fn the_parts_are_the_whole(size in MAX_SINGLE_SHOT_BYTES + 1..2048 * MB) {
            let UploadMethod::Multipart { parts } = UploadMethod::of(size) else { panic!("single shot") };
            let sizes: Vec<_> = (1..=parts).map(|number| part_bytes(size, number).unwrap()).collect();
            prop_assert_eq!(sizes.iter().sum::<u64>(), size);
            prop_assert!(sizes.iter().all(|part| (1..=PART_BYTES).contains(part)));
            prop_assert_eq!(part_bytes(size, parts + 1), None);
        }
    }
}
