//! The storage quota of an organization, and the limit on open upload sessions of a project.

use crate::upload::MAX_UPLOAD_SESSIONS;

/// What an organization stores. Open sessions count as declared, and every object counts once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StorageUsage {
    pub files: u64,
    pub bytes: u64,
}

/// What a plan allows; None is unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StorageQuota {
    pub files: Option<u64>,
    pub bytes: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StorageRefusal {
    TooManySessions,
    TooManyFiles { most: u64 },
    TooManyBytes { most: u64, stored: u64 },
}

impl StorageQuota {
    /// Checks whether one more file of so many bytes may be stored. A duplicate adds 0 bytes.
    pub fn admit(&self, stored: StorageUsage, bytes: u64) -> Result<StorageUsage, StorageRefusal> {
        let after = StorageUsage {
            files: stored.files.saturating_add(1),
            bytes: stored.bytes.saturating_add(bytes),
        };
        if let Some(most) = self.files.filter(|most| after.files > *most) {
            return Err(StorageRefusal::TooManyFiles { most });
        }
        if let Some(most) = self.bytes.filter(|most| bytes > 0 && after.bytes > *most) {
            let stored = stored.bytes;
            return Err(StorageRefusal::TooManyBytes { most, stored });
        }
        Ok(after)
    }
}

/// Checks whether a project may open one more session.
pub const fn admit_upload_session(open: u64) -> Result<(), StorageRefusal> {
    if open < MAX_UPLOAD_SESSIONS {
        Ok(())
    } else {
        Err(StorageRefusal::TooManySessions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUOTA: StorageQuota = StorageQuota {
        files: Some(2),
        bytes: Some(100),
    };

    #[test]
    fn a_quota_is_reached_and_not_passed() {
        let one = QUOTA.admit(StorageUsage::default(), 60).unwrap();
        assert_eq!(
            QUOTA.admit(one, 41),
            Err(StorageRefusal::TooManyBytes {
                most: 100,
                stored: 60
            })
        );
        let two = QUOTA.admit(one, 40).unwrap();
        assert_eq!(
            two,
            StorageUsage {
                files: 2,
                bytes: 100
            }
        );
        assert_eq!(
            QUOTA.admit(two, 0),
            Err(StorageRefusal::TooManyFiles { most: 2 })
        );
    }

    #[test]
    fn a_duplicate_takes_no_room_even_where_none_is_left() {
        let full = StorageUsage {
            files: 1,
            bytes: 200,
        };
        assert!(QUOTA.admit(full, 0).is_ok());
        assert!(StorageQuota::default().admit(full, u64::MAX).is_ok());
    }

    #[test]
    fn the_21st_session_is_one_too_many() {
        assert_eq!(admit_upload_session(19), Ok(()));
        assert_eq!(
            admit_upload_session(20),
            Err(StorageRefusal::TooManySessions)
        );
    }
}
