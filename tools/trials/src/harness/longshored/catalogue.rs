//! The catalogue that trials run with: free models and priced models.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::harness::{FailureContext as _, Result};

/// The price of every priced model.
pub const PRICE: &str = "price = { batch = { input = \"0.10\", output = \"0.40\" } }\n";
/// Never billed.
pub const FREE_MODEL: &str = "svc-mock";
/// Priced, and served by the mock provider too. The names of all priced models begin with it.
pub const PRICED_MODEL: &str = "trial-priced";
/// More models of each kind. Each model has its own lane.
const MORE_PRICED_MODELS: usize = 8;
const MORE_FREE_MODELS: usize = 4;

const FIRST_MODELS: &str = r#"[[model]]
id = "svc-mock"
provider = "mock"
kind = "chat"

[[model]]
id = "trial-priced"
provider = "mock"
kind = "chat"
context = 128_000
price = { batch = { input = "0.10", output = "0.40" } }
"#;

/// Writes the catalogue; returns its path.
pub fn write_catalogue(folder: &Path) -> Result<PathBuf> {
    let file = folder.join("models.toml");
    fs::write(&file, catalogue_toml()).context("writing the catalogue")?;
    Ok(file)
}

/// Every model of the catalogue: two of three are priced.
pub fn all_models() -> Vec<String> {
    let priced = (1..=MORE_PRICED_MODELS).map(priced_model_id);
    let free = (1..=MORE_FREE_MODELS).map(free_model_id);
    let first = [PRICED_MODEL.to_owned(), FREE_MODEL.to_owned()];
    first.into_iter().chain(priced).chain(free).collect()
}

fn priced_model_id(number: usize) -> String {
    format!("{PRICED_MODEL}-{number}")
}

fn free_model_id(number: usize) -> String {
    format!("trial-free-{number}")
}

fn catalogue_toml() -> String {
    let mut text = FIRST_MODELS.to_owned();
    let priced = (1..=MORE_PRICED_MODELS).map(|number| (priced_model_id(number), PRICE));
    let free = (1..=MORE_FREE_MODELS).map(|number| (free_model_id(number), ""));
    for (id, price) in priced.chain(free) {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "\n[[model]]\nid = \"{id}\"\nprovider = \"mock\"\nkind = \"chat\"\n{price}"
        );
    }
    text
}
