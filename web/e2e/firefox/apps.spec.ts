import { test as base, expect } from "@playwright/test";
import puppeteer, { type Browser, type Frame, type Page } from "puppeteer-core";
import { appServer, sample, startCanary } from "../apps";
import { Usher } from "../usher";

/** The person's Firefox, driven by WebDriver BiDi. */
const test = base.extend<object, { firefox: Browser }>({
	firefox: [
		// biome-ignore lint/correctness/noEmptyPattern: Playwright reads the fixture's needs from the pattern.
		async ({}, use) => {
			const firefox = await puppeteer.launch({
				browser: "firefox",
				executablePath: process.env.FIREFOX ?? "/usr/bin/firefox-esr",
				headless: true,
				timeout: 60_000,
			});
			await use(firefox);
			await firefox.close();
		},
		{ scope: "worker" },
	],
});

async function enter(firefox: Browser, usher: Usher): Promise<Page> {
	const page = await (await firefox.createBrowserContext()).newPage();
	await page.setViewport({ width: 1280, height: 900 });
	await page.goto(usher.url);
	await page.locator("main").wait();
	return page;
}

/** Runs a tool the way a person at the keyboard does. */
async function runTool(page: Page, title: string): Promise<void> {
	await page.locator("main").wait();
	await page.keyboard.down("Control");
	await page.keyboard.press("k");
	await page.keyboard.up("Control");
	await page.locator('[role="combobox"]').fill(title);
	await expect.poll(() => text(page, '[role="option"]')).toContain(title);
	await page.keyboard.press("Enter");
	await page.locator("::-p-aria([name='Run'][role='button'])").click();
}

function text(on: Page | Frame, selector: string): Promise<string> {
	return on.evaluate((s) => document.querySelector(s)?.textContent ?? "", selector);
}

const phases = (page: Page) =>
	page.$$eval("iframe", (frames) => frames.map((frame) => frame.getAttribute("data-phase")));

/** The newest app's own document: the frame inside the sandbox. */
async function newestApp(page: Page): Promise<Frame> {
	const apps = page.frames().filter((frame) => frame.parentFrame()?.url().includes("/sandbox?"));
	const app = apps.at(-1);
	if (!app) throw new Error("no app is drawn");
	return app;
}

const drawn = [
	{ server: "tour", tool: "Show the revenue dashboard", shows: "Revenue by region" },
	{ server: "budget-allocator", tool: "Get Budget Data", shows: "Allocated: $100,000" },
	{ server: "scenario-modeler", tool: "Get Scenario Data", shows: "Scenario" },
];

for (const { server, tool, shows } of drawn) {
	test(`${server} is drawn, and again after a reload`, async ({ firefox }) => {
		const usher = new Usher();
		try {
			await usher.start(server === "tour" ? undefined : { [server]: sample(server) });
			const page = await enter(firefox, usher);
			await runTool(page, tool);
			for (const round of ["first", "reloaded"]) {
				await expect.poll(() => phases(page), { message: round }).toEqual(["shown"]);
				await expect.poll(async () => text(await newestApp(page), "body")).toContain(shows);
				if (round === "first") await page.reload();
			}
			if (process.env.USHER_SCREENSHOTS) await page.screenshot({ path: "web/test-results/firefox.png" });
		} finally {
			await usher.close();
		}
	});
}

test("a hostile app reaches nothing", async ({ firefox }) => {
	const canary = await startCanary();
	const usher = new Usher();
	usher.flags = ["--verbose"];
	try {
		await usher.start({ apps: appServer(canary.origin) });
		const page = await enter(firefox, usher);
		await page.evaluate(() => localStorage.setItem("secret", "of the page"));
		await runTool(page, "Hostile");
		await expect.poll(() => phases(page)).toEqual(["shown"]);
		const app = await newestApp(page);
		const before = usher.stderr;
		await expect.poll(() => app.evaluate("window.report?.done ?? false"), { timeout: 150_000 }).toBe(true);
		const report = (await app.evaluate("window.report")) as Record<string, unknown>;
		delete report.done;
		expect(Object.keys(report).length).toBeGreaterThan(150);
		expect(Object.entries(report).filter(([, outcome]) => outcome !== "stopped")).toEqual([]);
		expect(canary.hits.filter((hit) => hit !== "connection")).toEqual([]);
		const during = usher.stderr.slice(before.length);
		for (const route of ["/healthz", "/v1/servers/{name}/stderr", "GET /sandbox"]) expect(during).not.toContain(route);
		expect(page.url()).toContain(usher.origin);
	} finally {
		await usher.close();
		await canary.close();
	}
});
