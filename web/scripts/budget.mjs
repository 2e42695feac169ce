// Measures what a browser must fetch, gzipped, and fails when it is more than the page may cost.
// The first load is what index.html names; every other script is fetched when it is needed.
import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const dist = new URL("../dist/", import.meta.url);
const budgets = { first: 120 * 1024, app: 65 * 1024, other: 65 * 1024 };

const size = (name) => gzipSync(readFileSync(new URL(name, dist)), { level: 9 }).length;
const html = readFileSync(new URL("index.html", dist), "utf8");
const first = ["index.html", ...[...html.matchAll(/(?:src|href)="\/([^"]+\.(?:js|css))"/g)].map((m) => m[1])];
const lazy = readdirSync(new URL("assets/", dist))
	.map((name) => `assets/${name}`)
	.filter((name) => /\.(js|css)$/.test(name) && !first.includes(name));

const rows = [
	{ what: "first load", files: first, limit: budgets.first },
	...lazy.map((name) =>
		/\/app-|AppView/.test(name)
			? { what: "app host", files: [name], limit: budgets.app }
			: { what: "on demand", files: [name], limit: budgets.other },
	),
];

let over = false;
for (const { what, files, limit } of rows) {
	const bytes = files.reduce((sum, name) => sum + size(name), 0);
	if (bytes > limit) over = true;
	const verdict = bytes > limit ? "OVER" : "ok";
	process.stdout.write(
		`${verdict.padEnd(5)}${what.padEnd(11)}${(bytes / 1024).toFixed(1).padStart(7)} KiB of ${limit / 1024} KiB  ${files.join(" ")}\n`,
	);
}
if (first.length < 3) {
	process.stderr.write("budget: index.html names no script and no style; was the page built?\n");
	over = true;
}
process.exitCode = over ? 1 : 0;
