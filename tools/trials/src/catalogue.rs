//! The catalogue that trials run with: one model that is free, one that costs money.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::{During as _, Result};

/// Never billed.
pub const FREE: &str = "svc-mock";
/// Served by the mock provider too, and billed.
pub const PRICED: &str = "trial-priced";

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
    fs::write(&file, MODELS).during("writing the catalogue")?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_has_the_models_that_are_loaded_for() {
        for model in [FREE, PRICED] {
            assert!(MODELS.contains(&format!("id = \"{model}\"")));
        }
    }
}
