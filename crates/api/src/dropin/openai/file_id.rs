//! Ids of files: uploaded ones, and the results of a batch.

use domain::id::{Berth, GroupId, GroupKind, ParcelId, ParcelKind};

use crate::dropin::batch_id::{read_id, write_id};
use crate::dropin::openai::result_line::ResultFile;

pub(crate) const FILE_PREFIX: &str = "file-";
pub(crate) const BATCH_PREFIX: &str = "batch_";
const OUTPUT_SUFFIX: &str = "-out";
const ERROR_SUFFIX: &str = "-err";

/// A file that a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NamedFile {
    Input(ParcelId),
    Result { batch: GroupId, file: ResultFile },
}

impl NamedFile {
    /// None: it is no id of a file, or of another berth.
    pub(crate) fn read(text: &str, berth: Berth) -> Option<Self> {
        let results = [
            (OUTPUT_SUFFIX, ResultFile::Output),
            (ERROR_SUFFIX, ResultFile::Error),
        ];
        for (suffix, file) in results {
            if let Some(id) = text.strip_suffix(suffix) {
                let batch = read_id::<GroupKind>(FILE_PREFIX, id)?;
                return (batch.berth() == berth).then_some(Self::Result { batch, file });
            }
        }
        let parcel = read_id::<ParcelKind>(FILE_PREFIX, text)?;
        (parcel.berth() == berth).then_some(Self::Input(parcel))
    }
}

pub(crate) fn input_file_id(parcel: ParcelId) -> String {
    write_id(FILE_PREFIX, parcel)
}

/// Results are no stored files: their id is that of their batch.
pub(crate) fn result_file_id(batch: GroupId, file: ResultFile) -> String {
    let suffix = match file {
        ResultFile::Output => OUTPUT_SUFFIX,
        ResultFile::Error => ERROR_SUFFIX,
    };
    write_id(FILE_PREFIX, batch) + suffix
}

pub(crate) fn batch_id(group: GroupId) -> String {
    write_id(BATCH_PREFIX, group)
}

pub(crate) fn read_batch_id(text: &str, berth: Berth) -> Option<GroupId> {
    let group = read_id::<GroupKind>(BATCH_PREFIX, text)?;
    (group.berth() == berth).then_some(group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_id_says_what_it_names() {
        let digits = "019b76da807b774b805000000000002a";
        let batch: GroupId = format!("grp_{digits}").parse().unwrap();
        let parcel: ParcelId = format!("prc_{digits}").parse().unwrap();
        let berth = batch.berth();
        let read = |text: &str| NamedFile::read(text, berth);
        let input = input_file_id(parcel);
        assert_eq!(read(&input), Some(NamedFile::Input(parcel)));
        for file in [ResultFile::Output, ResultFile::Error] {
            let id = result_file_id(batch, file);
            assert_eq!(read(&id), Some(NamedFile::Result { batch, file }));
        }
        let other = Berth::new(berth.number() + 1).unwrap();
        assert_eq!(NamedFile::read(&input, other), None);
        for wrong in ["", "file-", "file-1", "file_019b", &batch_id(batch)] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        assert_eq!(read_batch_id(&batch_id(batch), berth), Some(batch));
    }
}
