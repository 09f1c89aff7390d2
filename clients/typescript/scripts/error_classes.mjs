// Writes the error classes and the retry rules from clients/errors.toml.

import { parse } from "smol-toml";

const HEADER = `// Generated from clients/errors.toml by \`npm run generate\`. Do not edit.

import { ApiError } from "./error_base.js";

export type RetryRule = "no" | "backoff" | "slow_backoff" | "retry_after";
`;

export function errorClasses(toml) {
  const entries = parse(toml).error;
  const classes = groupByName(entries);
  const written = [...classes].map(([name, group]) => writeClass(name, group));
  return [HEADER, ...written, writeTable(entries)].join("\n");
}

const nameOf = (entry) => entry.class;

// Node 20 has no Map.groupBy.
function groupByName(entries) {
  const groups = new Map();
  for (const entry of entries) groups.set(nameOf(entry), [...(groups.get(nameOf(entry)) ?? []), entry]);
  return groups;
}

function writeClass(name, entries) {
  return `${writeComment(entries)}export class ${name} extends ApiError {\n  override name = "${name}";\n}\n`;
}

function writeComment(entries) {
  if (entries.length === 1) return `/** ${entries[0].advice} */\n`;
  const lines = entries.map(({ code, advice }) => ` * - ${code ? `\`${code}\`` : "others"}: ${advice}`);
  return `/**\n * What to do, by \`code\`:\n${lines.join("\n")}\n */\n`;
}

function writeTable(entries) {
  const lines = entries.map(
    (entry) => `  "${[entry.status, entry.code].filter(Boolean).join(" ")}": { type: ${entry.class}, retry: "${entry.retry}" },`,
  );
  const type = "Readonly<Record<string, { type: typeof ApiError; retry: RetryRule }>>";
  const comment = "/** By status and code. A status alone is the fallback for codes that this version does not know. */";
  return `${comment}\nexport const KNOWN_ERRORS: ${type} = {\n${lines.join("\n")}\n};\n`;
}
