import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import type { Frame, Locator, Page } from "@playwright/test";
import { expect, pick, run, type Usher } from "./usher";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** The server with one good app and many bad ones. */
export function appServer(canary = "http://127.0.0.1:9") {
	return { command: "node", args: [fileURLToPath(new URL("apps-server.mjs", import.meta.url)), canary] };
}

/** A sample server of the extension, as npm has it, with the files it may open. */
export function sample(name: string, files: string[] = []) {
	return {
		command: "node",
		args: [`${root}node_modules/@modelcontextprotocol/server-${name}/dist/index.js`, "--stdio", ...files],
	};
}

/** A server that remembers everything that reaches it, connections that ask for nothing included. */
export async function startCanary() {
	const hits: string[] = [];
	const server = createServer((request, response) => {
		hits.push(`${request.method} ${request.url}`);
		response.setHeader("Access-Control-Allow-Origin", "*");
		response.end("caught");
	});
	server.on("connection", () => hits.push("connection"));
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const { port } = server.address() as AddressInfo;
	return {
		hits,
		origin: `http://127.0.0.1:${port}`,
		close: () =>
			new Promise((resolve) => {
				server.close(resolve);
				server.closeAllConnections(); // browsers keep theirs open for a minute
			}),
	};
}

/** Logs a page in, whose console is left alone: apps write into it. */
export async function enter(page: Page, usher: Usher): Promise<void> {
	await page.goto(usher.url);
	await expect(page.getByRole("main")).toBeVisible();
	await expect(page.getByLabel("Address or code")).toHaveCount(0);
}

/** Runs a tool and gives the card of its app. */
export async function openApp(page: Page, server: string, title: string, args?: object): Promise<Locator> {
	await pick(page, title);
	if (args) {
		await page.getByRole("button", { name: "JSON", exact: true }).click();
		await page.getByLabel("Arguments as JSON").fill(JSON.stringify(args));
	}
	await run(page);
	return page.getByRole("article", { name: `App of ${server}: ${title}` }).last();
}

/** The app's own document: the frame inside the sandbox of its card. */
export async function appFrame(card: Locator): Promise<Frame> {
	const outer = await (await card.locator("iframe").elementHandle({ timeout: 15_000 }))?.contentFrame();
	if (!outer) throw new Error("the card has no frame");
	const inner = await (await outer.waitForSelector("iframe")).contentFrame();
	if (!inner) throw new Error("the sandbox has no frame");
	return inner;
}

/** Where the app of a card is in its life. */
export function phase(card: Locator): Promise<string | null> {
	return card.locator("iframe").getAttribute("data-phase");
}

/** How high the app of a card is drawn. */
export async function height(card: Locator): Promise<number> {
	return Math.round((await card.locator("iframe").boundingBox())?.height ?? 0);
}
