import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { test as base, expect, type Page } from "@playwright/test";
import type { ScriptedModel } from "./model";

const root = fileURLToPath(new URL("../..", import.meta.url));
const binary = process.env.USHER_BIN ?? join(root, "bin/usher");
const fixture = fileURLToPath(new URL("fixtures/server.mjs", import.meta.url));

/** The servers most tests use: one that works, one that cannot start, one that is off. */
export const benchServers = {
	bench: { command: "node", args: [fixture], description: "A server for tests" },
	broken: { command: "usher-test-no-such-command" },
	resting: { command: "node", args: [fixture], disabled: true },
};

/** The same, with as many more tools as asked for. */
export function manyTools(count: number) {
	return { many: { command: "node", args: [fixture, String(count)] } };
}

/** A running `usher serve`. */
export class Usher {
	private process: ChildProcess | undefined;
	private readonly dir = mkdtempSync(join(tmpdir(), "usher-e2e-"));
	/** The address that was printed, one-time code included. */
	url = "";
	/** The address alone. */
	origin = "";
	stderr = "";
	/** Further variables of its environment. */
	env: Record<string, string> = {};
	/** Further flags of `usher serve`. */
	flags: string[] = [];

	/** Lets the working directory's project file name servers, which run only once a person approved them. */
	project(servers: Record<string, unknown>): void {
		writeFileSync(join(this.dir, ".mcp.json"), JSON.stringify({ mcpServers: servers }, null, 2));
	}

	/** Starts the daemon; with servers undefined nothing is configured, and it offers its tour. */
	async start(servers?: Record<string, unknown>, addr = "127.0.0.1:0"): Promise<void> {
		const args = ["serve", "--json", "--addr", addr, "--data-dir", join(this.dir, "data"), ...this.flags];
		if (servers) {
			const config = join(this.dir, "usher.json");
			writeFileSync(config, JSON.stringify({ mcpServers: servers }, null, 2));
			args.push("--config", config);
		}
		const child = spawn(binary, args, {
			cwd: this.dir,
			stdio: ["ignore", "pipe", "pipe"],
			// Nothing of the person who runs the tests: neither their configuration nor their keys.
			env: {
				PATH: process.env.PATH,
				HOME: this.dir,
				XDG_CONFIG_HOME: join(this.dir, "config"),
				TMPDIR: this.dir,
				...this.env,
			},
		});
		this.process = child;
		child.stderr?.on("data", (chunk: Buffer) => {
			this.stderr += chunk.toString();
		});
		const line = await new Promise<string>((resolve, reject) => {
			createInterface({ input: child.stdout as NodeJS.ReadableStream }).once("line", resolve);
			child.once("exit", (code) => reject(new Error(`usher serve ended with ${code}: ${this.stderr}`)));
		});
		this.url = (JSON.parse(line) as { url: string }).url;
		this.origin = new URL(this.url).origin;
	}

	/** Ends the daemon and waits for its end. What it stored stays for another start. */
	async stop(): Promise<void> {
		const child = this.process;
		this.process = undefined;
		if (!child || child.exitCode !== null) return;
		const ended = new Promise((resolve) => child.once("exit", resolve));
		child.kill("SIGTERM");
		await ended;
	}

	async close(): Promise<void> {
		await this.stop();
		rmSync(this.dir, { recursive: true, force: true });
	}
}

/** A test with a daemon of its own; every complaint of the page's console fails it. */
export const test = base.extend<{
	servers: Record<string, unknown> | "tour";
	/** The model that answers messages; without one there is none. */
	model: ScriptedModel | undefined;
	usher: Usher;
	shell: Page;
}>({
	servers: [benchServers, { option: true }],
	model: [undefined, { option: true }],
	usher: async ({ servers, model }, use) => {
		const usher = new Usher();
		if (model) usher.env = model.env;
		try {
			await usher.start(servers === "tour" ? undefined : servers);
			await use(usher);
		} finally {
			await usher.close();
		}
	},
	/** A page that is logged in. */
	shell: async ({ usher, page }, use) => {
		const complaints: string[] = [];
		page.on("console", (message) => {
			// A connection that is cut on purpose is not the page's fault.
			if (message.type() === "error" && !/net::ERR_|Failed to load resource/.test(message.text())) {
				complaints.push(message.text());
			}
		});
		page.on("pageerror", (error) => complaints.push(error.message));
		await page.goto(usher.url);
		await expect(page.getByRole("navigation", { name: "Sessions and servers" })).toBeAttached();
		await use(page);
		expect(complaints).toEqual([]);
	},
});

/** Puts a tool on the bench, the way a person at the keyboard does. */
export async function pick(page: Page, name: string): Promise<void> {
	await page.keyboard.press("Control+k");
	const search = page.getByRole("combobox", { name: "Search tools, prompts and resources" });
	await search.fill(name);
	await expect(page.getByRole("listbox", { name: "Found" }).getByRole("option").first()).toContainText(name);
	await search.press("Enter");
	await expect(search).toBeHidden();
}

/** Runs what is on the bench. */
export async function run(page: Page): Promise<void> {
	await page.getByRole("button", { name: "Run", exact: true }).click();
}

export { expect };
