//! Checks who can read the files of secrets.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::doctor::DependencyFindings;
use crate::settings::secret_file::SecretFile;

/// The permission of users other than the owner and the group to read a file.
const READABLE_BY_OTHERS: u32 = 0o004;

pub(super) fn check(found: &mut DependencyFindings, files: &[SecretFile]) {
    const CHECK: &str = "secret files";
    if files.is_empty() {
        return;
    }
    let (open, closed): (Vec<_>, Vec<_>) = files.iter().partition(|file| is_open(file));
    for file in open {
        let path = file.path.display();
        let text = format!(
            "{}: every user of this machine can read {path}",
            file.variable
        );
        found.warning(CHECK, &text, &format!("chmod o-r {path}"));
    }
    if !closed.is_empty() {
        let named = closed
            .iter()
            .map(|file| format!("{}={}", file.variable, file.path.display()));
        found.ok(CHECK, &named.collect::<Vec<_>>().join(", "));
    }
}

/// The file was read at start, so its metadata can be read too; otherwise there is nothing to say.
fn is_open(file: &SecretFile) -> bool {
    let metadata = fs::metadata(&file.path).ok();
    metadata.is_some_and(|it| it.permissions().mode() & READABLE_BY_OTHERS != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::{DoctorReport, render_text};

    #[test]
    fn a_file_that_everyone_can_read_is_reported() {
        let name = format!("longshore-doctor-secrets-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        let file = |variable: &str, name: &str, mode| {
            let path = folder.join(name);
            fs::write(&path, "hunter2").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let variable = variable.to_owned();
            SecretFile { variable, path }
        };
        let files = [
            file("SVC_DATABASE_URL_FILE", "url", 0o640),
            file("SVC_SIGNING_ROOT_FILE", "root", 0o644),
        ];
        let mut found = DependencyFindings::new("this machine");
        check(&mut found, &files);
        fs::remove_dir_all(&folder).unwrap();
        let (ok, findings) = (true, found.list);
        let text = render_text(&DoctorReport { ok, findings });
        let text = text.replace(folder.to_str().unwrap(), "/run");
        insta::assert_snapshot!(text, @r"
        this machine
          warning secret files        SVC_SIGNING_ROOT_FILE: every user of this machine can read /run/root
                  fix: chmod o-r /run/root
          ok      secret files        SVC_DATABASE_URL_FILE=/run/url

        no errors; warnings: 1
        ");
    }
}
