//! Tests of the answers of a run on disk, with crashes at many bytes.

use super::*;

/// A folder that is removed at the end of the test.
struct ScratchFolder(PathBuf);

impl ScratchFolder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("longshore-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn output(&self) -> PathBuf {
        self.0.join("answers.jsonl")
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        let _removed = fs::remove_dir_all(&self.0);
    }
}

fn answer(number: u64, position: u64) -> NewAnswer {
    NewAnswer {
        number,
        position,
        is_success: position != 1,
        charged: 10,
        line: format!("{{\"position\":{position}}}").into_bytes(),
    }
}

const ANSWERS_IN_ORDER: &str = "{\"position\":0}\n{\"position\":1}\n{\"position\":2}\n";

#[test]
fn answers_are_written_in_the_order_of_the_input() {
    let folder = ScratchFolder::new("order");
    let mut store = AnswerStore::open(&folder.output(), "grp_1", 3).unwrap();
    store.append(&[answer(1, 2), answer(2, 0)]).unwrap();
    store.append(&[answer(2, 0), answer(3, 1)]).unwrap();
    assert_eq!(store.last_number, 3);
    let totals = store.finish().unwrap();
    let expected = AnswerTotals {
        answered: 3,
        failed: 1,
        refused: 0,
        charged: 30,
    };
    assert_eq!(totals, expected);
    let written = fs::read_to_string(folder.output()).unwrap();
    assert_eq!(written, ANSWERS_IN_ORDER);
    assert!(!part_path(&folder.output()).exists());
    assert!(!index_path(&folder.output()).exists());
}

#[test]
fn a_killed_process_loses_at_most_what_it_did_not_count() {
    let folder = ScratchFolder::new("crash");
    let output = folder.output();
    let mut store = AnswerStore::open(&output, "grp_1", 3).unwrap();
    store.append(&[answer(1, 2)]).unwrap();
    store.set_loaded(3).unwrap();
    store.append(&[answer(2, 0)]).unwrap();
    drop(store);
    let part = fs::read(part_path(&output)).unwrap();
    let index = fs::read(index_path(&output)).unwrap();
    for part_cut in (0..=part.len()).step_by(5) {
        for index_cut in (0..=index.len()).step_by(8) {
            fs::write(part_path(&output), &part[..part_cut]).unwrap();
            fs::write(index_path(&output), &index[..index_cut]).unwrap();
            let mut store = AnswerStore::open(&output, "grp_1", 3).unwrap();
            let after = store.last_number;
            let rest: Vec<NewAnswer> = [answer(1, 2), answer(2, 0), answer(3, 1)]
                .into_iter()
                .filter(|it| it.number > after)
                .collect();
            store.append(&rest).unwrap();
            assert_eq!(store.finish().unwrap().answered, 3);
            assert_eq!(fs::read_to_string(&output).unwrap(), ANSWERS_IN_ORDER);
        }
    }
}

#[test]
fn loaded_requests_are_remembered() {
    let folder = ScratchFolder::new("loaded");
    let mut store = AnswerStore::open(&folder.output(), "grp_1", 3).unwrap();
    store.set_loaded(2).unwrap();
    drop(store);
    let store = AnswerStore::open(&folder.output(), "grp_1", 3).unwrap();
    assert_eq!(store.loaded, 2);
    assert!(!store.is_answered(0));
}

#[test]
fn answers_of_another_run_are_kept() {
    let folder = ScratchFolder::new("other");
    drop(AnswerStore::open(&folder.output(), "grp_1", 3).unwrap());
    let error = AnswerStore::open(&folder.output(), "grp_2", 3).unwrap_err();
    assert_eq!(error.code, "other_run");
}

#[test]
fn an_answer_needs_a_request() {
    let folder = ScratchFolder::new("request");
    let mut store = AnswerStore::open(&folder.output(), "grp_1", 1).unwrap();
    let error = store.append(&[answer(1, 5)]).unwrap_err();
    assert_eq!(error.code, "other_file");
}
