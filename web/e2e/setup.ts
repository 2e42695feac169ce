import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/** Builds the binary that the tests start; everything after it runs against that file alone. */
export default function setup(): void {
	// A program that is there already is tested as it is.
	if (process.env.USHER_BIN) return;
	const root = fileURLToPath(new URL("../..", import.meta.url));
	execFileSync("go", ["build", "-o", "bin/usher", "./cmd/usher"], { cwd: root, stdio: "inherit" });
}
