//! Embeds the static assets: our own files, and the two libraries that `npm ci` installs.

#![expect(
    clippy::disallowed_methods,
    reason = "cargo passes settings to a build script as environment variables only"
)]

use std::collections::hash_map::DefaultHasher;
use std::env;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::hash::{Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

const ASSETS_DIR: &str = "assets";
const VENDORED_ASSETS: [(&str, &str); 3] = [
    ("htmx.js", "web/node_modules/htmx.org/dist/htmx.min.js"),
    ("uplot.js", "web/node_modules/uplot/dist/uPlot.iife.min.js"),
    ("uplot.css", "web/node_modules/uplot/dist/uPlot.min.css"),
];

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let mut found: Vec<(String, PathBuf)> = Vec::new();
    println!("cargo::rerun-if-changed={ASSETS_DIR}");
    for entry in fs::read_dir(root.join(ASSETS_DIR))? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        found.push((
            name.ok_or("an asset's file name is not valid UTF-8")?
                .to_owned(),
            path,
        ));
    }
    for (name, source) in VENDORED_ASSETS {
        println!("cargo::rerun-if-changed={source}");
        let path = root.join(source);
        if !path.exists() {
            return Err(format!("crates/dashboard/{source} is missing: run ./dev deps").into());
        }
        found.push((name.to_owned(), path));
    }
    found.sort();
    let mut table = String::from("&[\n");
    for (name, path) in found {
        let bytes = fs::read(&path)?;
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        let hash = hasher.finish();
        // Checkouts that share a target folder share this table, too: it names no checkout.
        let path = format!("/{}", path.strip_prefix(&root)?.display());
        writeln!(
            table,
            "    Asset {{ name: {name:?}, version: \"{hash:016x}\",
                bytes: include_bytes!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {path:?})) }},"
        )?;
    }
    table.push(']');
    fs::write(Path::new(&env::var("OUT_DIR")?).join("assets.rs"), table)?;
    Ok(())
}
