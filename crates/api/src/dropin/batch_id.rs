//! Ids of other formats: the same UUID as ours, with another prefix.

use domain::id::{GroupId, Id, IdKind};

/// The id with the prefix of a format.
pub(crate) fn write_id<T: IdKind>(prefix: &str, id: Id<T>) -> String {
    format!("{prefix}{}", id.uuid().simple())
}

/// Reads an id with the prefix of a format. None: it is none.
pub(crate) fn read_id<T: IdKind>(prefix: &str, text: &str) -> Option<Id<T>> {
    let digits = text.strip_prefix(prefix)?;
    format!("{}{digits}", T::PREFIX).parse().ok()
}

/// The id that a batch of Anthropic's format has.
pub(crate) const MESSAGE_BATCH_PREFIX: &str = "msgbatch_";

pub(crate) fn message_batch_id(group: GroupId) -> String {
    write_id(MESSAGE_BATCH_PREFIX, group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_the_same_digits_in_every_format() {
        let text = "grp_019b76da807b774b805000000000002a";
        let group: GroupId = text.parse().unwrap();
        let written = message_batch_id(group);
        assert_eq!(written, "msgbatch_019b76da807b774b805000000000002a");
        assert_eq!(read_id(MESSAGE_BATCH_PREFIX, &written), Some(group));
        for wrong in ["", "msgbatch_", text, "msgbatch_019B"] {
            assert_eq!(
                read_id::<domain::id::GroupKind>(MESSAGE_BATCH_PREFIX, wrong),
                None
            );
        }
    }
}
