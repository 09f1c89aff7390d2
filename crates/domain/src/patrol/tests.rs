//! Patrol: every row of its tables.

use super::*;

const YOUNG: TimeDelta = TimeDelta::minutes(1);
const OLD: TimeDelta = TimeDelta::minutes(11);

use FileStatus::{Expired, Failed, Ready, Uploading, Validating};
use PatrolAction::{Keep, Remove};

#[test]
fn staging_holds_only_what_is_being_uploaded_or_validated() {
    let table = [
        (Some(Uploading), Keep, Keep),
        (Some(Validating), Keep, Keep),
        (Some(Ready), Remove, Remove),
        (Some(Failed), Remove, Remove),
        (Some(Expired), Remove, Remove),
        (None, Keep, Remove),
    ];
    for (file, young, old) in table {
        assert_eq!(
            judge_staged_object(file, YOUNG, UNKNOWN_OBJECT_GRACE),
            young,
            "young {file:?}"
        );
        assert_eq!(
            judge_staged_object(file, OLD, UNKNOWN_OBJECT_GRACE),
            old,
            "old {file:?}"
        );
    }
}

#[test]
fn published_bytes_stay_while_a_file_has_them_or_may_come_to() {
    let table = [
        (Some(Uploading), Keep, Keep),
        (Some(Validating), Keep, Keep),
        (Some(Ready), Remove, Remove),
        (Some(Failed), Remove, Remove),
        (Some(Expired), Remove, Remove),
        (None, Keep, Remove),
    ];
    for (file, young, old) in table {
        assert_eq!(
            judge_published_object(false, file, YOUNG, UNKNOWN_OBJECT_GRACE),
            young,
            "young {file:?}"
        );
        assert_eq!(
            judge_published_object(false, file, OLD, UNKNOWN_OBJECT_GRACE),
            old,
            "old {file:?}"
        );
        // Another file of the project may use the object when the one that uploaded it is gone.
        assert_eq!(
            judge_published_object(true, file, OLD, UNKNOWN_OBJECT_GRACE),
            Keep,
            "live {file:?}"
        );
    }
}

#[test]
fn an_upload_stays_while_a_row_that_is_open_names_it() {
    for open in [Uploading, Validating] {
        let table = [
            (Some((open, Some("mine"))), Keep, Keep),
            (Some((open, Some("other"))), Remove, Remove),
            (Some((open, None)), Keep, Remove),
        ];
        for (file, young, old) in table {
            assert_eq!(
                judge_multipart_upload(file, "mine", YOUNG, UNKNOWN_OBJECT_GRACE),
                young,
                "young {file:?}"
            );
            assert_eq!(
                judge_multipart_upload(file, "mine", OLD, UNKNOWN_OBJECT_GRACE),
                old,
                "old {file:?}"
            );
        }
    }
    for settled in [Ready, Failed, Expired] {
        for named in [Some("mine"), Some("other"), None] {
            let file = Some((settled, named));
            assert_eq!(
                judge_multipart_upload(file, "mine", YOUNG, UNKNOWN_OBJECT_GRACE),
                Remove,
                "{file:?}"
            );
        }
    }
    assert_eq!(
        judge_multipart_upload(None, "mine", YOUNG, UNKNOWN_OBJECT_GRACE),
        Keep
    );
    assert_eq!(
        judge_multipart_upload(None, "mine", OLD, UNKNOWN_OBJECT_GRACE),
        Remove
    );
}

#[test]
fn a_store_whose_clock_is_ahead_makes_nothing_old() {
    assert_eq!(judge_staged_object(None, -OLD, UNKNOWN_OBJECT_GRACE), Keep);
    assert_eq!(
        judge_staged_object(None, UNKNOWN_OBJECT_GRACE, UNKNOWN_OBJECT_GRACE),
        Keep
    );
}
