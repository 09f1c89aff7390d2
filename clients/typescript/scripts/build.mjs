// Writes dist: one source as ES modules (.js, .d.ts) and as CommonJS (.cjs, .d.cts).

import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const DIST = join(ROOT, "dist");
const COMMON_JS = join(ROOT, "build/cjs");
const TSC = createRequire(import.meta.url).resolve("typescript/bin/tsc");

function compile(...options) {
  execFileSync(process.execPath, [TSC, "-p", ROOT, ...options], { cwd: ROOT, stdio: "inherit" });
}

// Node reads a .cjs file as CommonJS whatever package.json says, so its imports must name .cjs files.
function renameModules() {
  for (const name of readdirSync(COMMON_JS, { recursive: true })) {
    const ending = [".d.ts", ".js"].find((each) => name.endsWith(each));
    if (!ending) continue;
    const text = readFileSync(join(COMMON_JS, name), "utf8");
    const renamed = text.replace(/(["'])(\.{1,2}\/[^"']+)\.js\1/g, "$1$2.cjs$1");
    const target = join(DIST, name.slice(0, -ending.length) + (ending === ".js" ? ".cjs" : ".d.cts"));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, renamed);
  }
}

rmSync(DIST, { recursive: true, force: true });
rmSync(COMMON_JS, { recursive: true, force: true });
compile();
compile("--module", "commonjs", "--moduleResolution", "node10", "--outDir", COMMON_JS);
renameModules();
