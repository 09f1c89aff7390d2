//! How much an organization may store, and how many sessions a project may have open.

use crate::upload::MOST_SESSIONS;

/// What an organization stores: open sessions as declared, and every object once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stored {
    pub files: u64,
    pub bytes: u64,
}

/// What a plan allows; nothing is unlimited.
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
    /// May one more file of so many bytes be stored? A duplicate has 0 bytes of its own.
    pub fn admit(&self, stored: Stored, bytes: u64) -> Result<Stored, StorageRefusal> {
        let after = Stored {
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

/// May a project open one more session?
pub const fn admit_session(open: u64) -> Result<(), StorageRefusal> {
    if open < MOST_SESSIONS {
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
        let one = QUOTA.admit(Stored::default(), 60).unwrap();
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
            Stored {
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
        let full = Stored {
            files: 1,
            bytes: 200,
        };
        assert!(QUOTA.admit(full, 0).is_ok());
        assert!(StorageQuota::default().admit(full, u64::MAX).is_ok());
    }

    #[test]
    fn the_21st_session_is_one_too_many() {
        assert_eq!(admit_session(19), Ok(()));
        assert_eq!(admit_session(20), Err(StorageRefusal::TooManySessions));
    }
}
