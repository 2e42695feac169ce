// node-modules.mjs [DIRECTORY]: install npm dependencies only when node_modules is not what package-lock.json asks for.
// Compared by content and not by time, since a fresh checkout gives every file the same time.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const directory = process.argv[2] ?? ".";

/** Installed or wanted versions by path; undefined when the lock file cannot be read. */
function versions(lockFile) {
	try {
		return JSON.parse(readFileSync(join(directory, lockFile), "utf8")).packages;
	} catch {
		return undefined;
	}
}

/** Why node_modules has to be installed anew; empty when it is current. */
function reason() {
	const wanted = versions("package-lock.json");
	if (!wanted) return "package-lock.json cannot be read";
	const installed = versions("node_modules/.package-lock.json");
	if (!installed) return "nothing is installed";
	for (const [path, entry] of Object.entries(wanted)) {
		if (path === "") continue;
		const have = installed[path];
		// Packages for other systems are in the lock and not on the disk.
		if (!have && entry.optional) continue;
		if (!have) return `${path} is missing`;
		if (have.version !== entry.version || have.integrity !== entry.integrity) {
			return `${path} is ${have.version}, the lock has ${entry.version}`;
		}
	}
	for (const path of Object.keys(installed)) {
		if (!wanted[path]) return `${path} is not in the lock`;
	}
	return "";
}

const why = reason();
if (why === "") {
	console.log("node_modules is what package-lock.json asks for");
} else {
	console.log(`npm ci: ${why}`);
	const npm = spawnSync("npm", ["ci", "--no-audit", "--no-fund"], { cwd: directory, stdio: "inherit" });
	process.exitCode = npm.status ?? 1;
}
