//! The settings files of the Debian package name settings that exist, with valid values.

use super::*;

const PACKAGED_FILES: [&str; 2] = [
    include_str!("../../../../../packaging/debian/longshored.env"),
    include_str!("../../../../../packaging/debian/longshored-work.env"),
];

/// Lines such as `SVC_LISTEN=127.0.0.1:8080`, with or without `#` before them.
fn assignments() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = PACKAGED_FILES.iter().flat_map(|file| file.lines());
    let pairs = lines.filter_map(|line| line.trim_start_matches('#').split_once('='));
    pairs.filter(|(name, _)| name.starts_with(SETTING_PREFIX))
}

#[test]
fn every_setting_of_the_package_exists() {
    for (name, _) in assignments() {
        let is_plain = TABLE.iter().any(|declared| declared.name == name);
        let is_known = is_plain || secret_file::find_setting(name).is_some();
        assert!(is_known, "{name}");
    }
    assert!(assignments().count() > 10);
}

/// The files of secrets do not exist here, and an object store is not complete without them.
fn is_complete(name: &str) -> bool {
    secret_file::find_setting(name).is_none() && !name.starts_with("SVC_OBJECTS_")
}

#[test]
fn every_value_of_the_package_is_valid() {
    let given: Vec<_> = assignments()
        .filter(|(name, _)| is_complete(name))
        .collect();
    assert_eq!(reading(&given).faults, []);
}
