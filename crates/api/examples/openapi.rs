//! Prints the description of the API: `./dev openapi` writes it to `openapi.json`.

#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "it prints, and has nothing to recover from"
)]

fn main() {
    let description = serde_json::to_string_pretty(&api::docs::openapi_document());
    println!("{}", description.expect("the description is JSON"));
}
