//! The catalogue that trials run with: models that are free, and models that cost money.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::{During as _, Result};

/// Never billed.
pub const FREE: &str = "svc-mock";
/// Served by the mock provider too, and billed; other billed models have names that begin so.
pub const PRICED: &str = "trial-priced";
/// Further models of each kind. A model has a lane of its own.
const MORE_PRICED_MODELS: usize = 8;
const MORE_FREE_MODELS: usize = 4;

const MODELS: &str = r#"[[model]]
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

/// Writes it and says where it lies.
pub fn write(folder: &Path) -> Result<PathBuf> {
    let file = folder.join("models.toml");
    fs::write(&file, text()).during("writing the catalogue")?;
    Ok(file)
}

/// Every model of the catalogue: two of three are billed.
pub fn models() -> Vec<String> {
    let priced = (1..=MORE_PRICED_MODELS).map(more_priced);
    let free = (1..=MORE_FREE_MODELS).map(more_free);
    let first = [PRICED.to_owned(), FREE.to_owned()];
    first.into_iter().chain(priced).chain(free).collect()
}

fn more_priced(number: usize) -> String {
    format!("{PRICED}-{number}")
}

fn more_free(number: usize) -> String {
    format!("trial-free-{number}")
}

fn text() -> String {
    let mut text = MODELS.to_owned();
    let price = "price = { batch = { input = \"0.10\", output = \"0.40\" } }\n";
    let priced = (1..=MORE_PRICED_MODELS).map(|number| (more_priced(number), price));
    let free = (1..=MORE_FREE_MODELS).map(|number| (more_free(number), ""));
    for (id, price) in priced.chain(free) {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "\n[[model]]\nid = \"{id}\"\nprovider = \"mock\"\nkind = \"chat\"\n{price}"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_has_the_models_that_are_loaded_for() {
        let text = text();
        let models = models();
        assert!(models.len() >= 12);
        for model in models {
            assert_eq!(text.matches(&format!("id = \"{model}\"")).count(), 1);
        }
    }
}
