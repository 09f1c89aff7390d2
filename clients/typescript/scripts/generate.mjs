// Writes src/schema.ts from openapi.json, and src/error_classes.ts from clients/errors.toml.
// `--check` only says which of them are stale. `--openapi PATH` reads another description.

import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { generatedFiles, ROOT } from "./generated_files.mjs";

const { values } = parseArgs({ options: { check: { type: "boolean" }, openapi: { type: "string" } } });

for (const [name, text] of Object.entries(await generatedFiles(values.openapi))) {
  const path = new URL(name, ROOT);
  if (!values.check) {
    writeFileSync(path, text);
  } else if (readFileSync(path, "utf8") !== text) {
    console.error(`${name} is stale: npm run generate`);
    process.exitCode = 1;
  }
}
