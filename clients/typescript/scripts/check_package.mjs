// publint and arethetypeswrong, on the package as npm would publish it.

import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const PACKED = join(ROOT, "build/packed");

function run(command, ...args) {
  execFileSync(command, args, { cwd: ROOT, stdio: ["ignore", "inherit", "inherit"] });
}

rmSync(PACKED, { recursive: true, force: true });
mkdirSync(PACKED, { recursive: true });
// prepack builds it. Its own output would hide that of the checks.
execFileSync("npm", ["pack", "--silent", "--pack-destination", PACKED], { cwd: ROOT });
const [tarball] = readdirSync(PACKED);
run(join(ROOT, "node_modules/.bin/publint"), "run", "--strict", join(PACKED, tarball));
run(join(ROOT, "node_modules/.bin/attw"), "--no-emoji", join(PACKED, tarball));
