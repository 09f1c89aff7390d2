//! Who serves models, by the names that the catalogue uses.

use std::collections::HashMap;
use std::sync::Arc;

use outbound::provider::Provider;

#[derive(Debug, Default)]
pub struct Providers(pub HashMap<String, Arc<dyn Provider>>);

impl Providers {
    pub(crate) fn find(&self, name: &str) -> Option<&Arc<dyn Provider>> {
        self.0.get(name)
    }
}
