//! What an erasure counts before it starts.

use serde::Serialize;
use store::control::erasure::{PersonRows, ProjectControlRows};
use store::control::person::Person;
use store::shard::project_erasure::ProjectContents;

use crate::admin::printer::{AdminView, yes_or_no};

const DRY_RUN_NOTE: &str = "Nothing was erased. Repeat the command with --yes to erase it. \
     Nothing can restore it, except backups of the databases.";

#[derive(Debug, Serialize)]
pub(in crate::admin) struct ProjectErasureView {
    /// The project or the organization.
    id: String,
    /// False: the command only counted.
    erases: bool,
    cargo: u64,
    open_cargo: u64,
    files: u64,
    objects: u64,
    other_rows: u64,
    api_keys: u64,
    audit_entries: u64,
}

impl ProjectErasureView {
    pub(in crate::admin) fn new(
        id: String,
        contents: ProjectContents,
        rows: ProjectControlRows,
        erases: bool,
    ) -> Self {
        Self {
            id,
            erases,
            cargo: contents.cargo,
            open_cargo: contents.open_cargo,
            files: contents.files,
            objects: contents.objects,
            other_rows: contents.other_rows,
            api_keys: rows.api_keys,
            audit_entries: rows.audit_entries,
        }
    }
}

impl AdminView for ProjectErasureView {
    fn fields(&self) -> Vec<(&'static str, String)> {
        vec![
            ("id", self.id.clone()),
            ("erases", yes_or_no(self.erases)),
            ("cargo", self.cargo.to_string()),
            ("cargo in flight", self.open_cargo.to_string()),
            ("files", self.files.to_string()),
            ("objects", self.objects.to_string()),
            ("other rows", self.other_rows.to_string()),
            ("API keys", self.api_keys.to_string()),
            ("audit entries", self.audit_entries.to_string()),
        ]
    }

    fn note(&self) -> Option<&'static str> {
        (!self.erases).then_some(DRY_RUN_NOTE)
    }
}

#[derive(Debug, Serialize)]
pub(in crate::admin) struct PersonErasureView {
    person_id: String,
    /// False: the command only counted.
    erases: bool,
    sessions: u64,
    identities: u64,
    memberships: u64,
    links: u64,
    audit_entries: u64,
}

impl PersonErasureView {
    pub(in crate::admin) fn new(person: &Person, rows: PersonRows, erases: bool) -> Self {
        Self {
            person_id: person.id.to_string(),
            erases,
            sessions: rows.sessions,
            identities: rows.identities,
            memberships: rows.memberships,
            links: rows.links,
            audit_entries: rows.audit_entries,
        }
    }
}

impl AdminView for PersonErasureView {
    fn fields(&self) -> Vec<(&'static str, String)> {
        vec![
            ("person", self.person_id.clone()),
            ("erases", yes_or_no(self.erases)),
            ("sessions", self.sessions.to_string()),
            ("identities", self.identities.to_string()),
            ("memberships", self.memberships.to_string()),
            ("links", self.links.to_string()),
            ("audit entries", self.audit_entries.to_string()),
        ]
    }

    fn note(&self) -> Option<&'static str> {
        (!self.erases).then_some(DRY_RUN_NOTE)
    }
}
