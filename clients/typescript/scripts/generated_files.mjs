// The texts of the generated files.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import openapiTypescript, { astToString } from "openapi-typescript";
import { errorClasses } from "./error_classes.mjs";

export const ROOT = new URL("../", import.meta.url);
const OPENAPI = new URL("../../openapi.json", ROOT);
const ERRORS = new URL("../errors.toml", ROOT);

export async function generatedFiles(openapi) {
  const description = JSON.parse(readFileSync(openapi ? pathToFileURL(openapi) : OPENAPI, "utf8"));
  return {
    "src/schema.ts": await schemaTypes(description),
    "src/error_classes.ts": errorClasses(readFileSync(ERRORS, "utf8")),
  };
}

// Only the schemas: the client writes its routes by hand.
async function schemaTypes(description) {
  const schemas = { ...description, paths: {}, components: { schemas: description.components.schemas } };
  const nodes = await openapiTypescript(schemas, { alphabetize: true, emptyObjectsUnknown: true });
  return `// Generated from openapi.json by \`npm run generate\`. Do not edit.\n\n${astToString(nodes)}`;
}
