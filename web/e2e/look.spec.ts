import { createRequire } from "node:module";
import type { Page } from "@playwright/test";
import { ScriptedModel } from "./model";
import { expect, pick, run, test, Usher } from "./usher";

const axePath = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

type Axe = {
	run(options: object): Promise<{ violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[] }>;
};

/** What axe has against the page as it is now. */
async function complaints(page: Page): Promise<string[]> {
	// Evaluated by the debugger, so that the page's own policy need not allow it.
	await page.evaluate((await import("node:fs")).readFileSync(axePath, "utf8"));
	const { violations } = await page.evaluate(() =>
		(window as unknown as { axe: Axe }).axe.run({ resultTypes: ["violations"], iframes: false }),
	);
	return violations.flatMap((v) => v.nodes.map((node) => `${v.id}: ${node.html}\n${node.failureSummary ?? ""}`));
}

for (const colorScheme of ["light", "dark"] as const) {
	test(`axe finds nothing, ${colorScheme}`, async ({ shell, usher }) => {
		await shell.emulateMedia({ colorScheme });
		await expect(shell.getByRole("heading", { name: "Run a tool" })).toBeVisible();
		expect(await complaints(shell), "first screen").toEqual([]);
		await shell.keyboard.press("/");
		await expect(shell.getByRole("option").first()).toBeVisible();
		expect(await complaints(shell), "palette").toEqual([]);
		await shell.keyboard.press("Escape");
		await pick(shell, "Book a room");
		await run(shell);
		await expect(shell.getByText("5 things need attention.")).toBeVisible();
		await shell.getByRole("button", { name: "Add an item" }).click();
		expect(await complaints(shell), "form").toEqual([]);
		for (const tool of ["Gallery", "Refuse", "Break"]) {
			await pick(shell, tool);
			await run(shell);
			await expect(shell.getByRole("article", { name: new RegExp(tool) })).toBeVisible();
		}
		await pick(shell, "Slow work");
		await shell.getByLabel("steps").fill("300");
		await run(shell);
		await expect(shell.getByRole("progressbar")).toBeVisible();
		expect(await complaints(shell), "transcript").toEqual([]);
		for (const place of [
			"servers",
			"servers/bench",
			"servers/bench/tools",
			"servers/bench/resources",
			"servers/broken",
			"servers/bench/stderr",
		]) {
			await shell.goto(`${usher.origin}/#/${place}`);
			await expect(shell.locator(".page-body > *").first()).toBeVisible();
			expect(await complaints(shell), place).toEqual([]);
		}
		await shell.keyboard.press("?");
		await expect(shell.getByRole("dialog", { name: "Keys" })).toBeVisible();
		expect(await complaints(shell), "keys").toEqual([]);
	});
}

test("at 360 pixels the rail is a drawer and nothing is cut off", async ({ shell, usher }) => {
	await shell.setViewportSize({ width: 360, height: 740 });
	await pick(shell, "Gallery");
	await run(shell);
	await expect(shell.getByRole("article", { name: /Gallery: Done/ })).toBeVisible();
	const fits = () => shell.evaluate(() => document.documentElement.scrollWidth <= innerWidth);
	expect(await fits()).toBe(true);
	const rail = shell.getByRole("navigation", { name: "Sessions and servers" });
	await expect(rail).toBeHidden();
	await shell.getByRole("button", { name: "Sessions and servers" }).click();
	await expect(rail).toBeVisible();
	expect(await complaints(shell), "drawer").toEqual([]);
	await shell.keyboard.press("Escape");
	await expect(rail).toBeHidden();
	await expect(shell.getByRole("button", { name: "Sessions and servers" })).toBeFocused();
	for (const place of ["servers", "servers/bench"]) {
		await shell.goto(`${usher.origin}/#/${place}`);
		await expect(shell.locator(".page-body > *").first()).toBeVisible();
		expect(await fits(), place).toBe(true);
	}
});

test("the theme follows the system until one is chosen, and stays chosen", async ({ shell }) => {
	const background = () => shell.evaluate(() => getComputedStyle(document.body).backgroundColor);
	await shell.emulateMedia({ colorScheme: "light" });
	const light = await background();
	await shell.emulateMedia({ colorScheme: "dark" });
	await expect.poll(background).not.toBe(light);
	await shell.getByRole("button", { name: "Light", exact: true }).click();
	await expect.poll(background).toBe(light);
	await shell.reload();
	await expect(shell.getByRole("button", { name: "Light", exact: true })).toHaveAttribute("aria-pressed", "true");
	expect(await background()).toBe(light);
});

test("a tool is found, filled in, run and read without a pointer", async ({ shell }) => {
	await shell.keyboard.press("/");
	await shell.keyboard.type("slow");
	await expect(shell.getByRole("option").first()).toContainText("Slow work");
	await shell.keyboard.press("Enter");
	await expect(shell.getByLabel("steps")).toBeFocused();
	await shell.keyboard.press("ControlOrMeta+a");
	await shell.keyboard.type("1");
	await shell.keyboard.press("Control+Enter");
	const card = shell.getByRole("article", { name: "bench, Slow work: Done" });
	await expect(card).toBeVisible();
	await expect(shell.locator(".transcript").getByRole("status")).toHaveText("Slow work of bench: Done");
	const toggle = card.getByRole("button", { expanded: true });
	await toggle.focus();
	await shell.keyboard.press("Enter");
	await expect(toggle).toBeHidden();
	await shell.keyboard.press("Enter");
	await card.getByRole("tab", { name: "Output" }).focus();
	await shell.keyboard.press("ArrowRight");
	await expect(card.getByRole("tab", { name: "Arguments" })).toHaveAttribute("aria-selected", "true");
	await shell.keyboard.press("Alt+n");
	await expect(shell.getByRole("heading", { name: "New session", level: 1 })).toBeVisible();
	await shell.keyboard.press("Alt+s");
	await expect(shell.getByRole("heading", { name: "Servers", level: 1 })).toBeVisible();
});

test("nothing moves for those who asked for less motion", async ({ shell }) => {
	await shell.emulateMedia({ reducedMotion: "reduce" });
	await pick(shell, "Slow work");
	await shell.getByLabel("steps").fill("4000");
	await run(shell);
	await expect(shell.getByRole("progressbar")).toBeVisible();
	const moving = await shell.evaluate(
		() => document.getAnimations().filter((one) => one.playState === "running").length,
	);
	expect(moving).toBe(0);
});

test.describe("with an app in the transcript", () => {
	test.use({ servers: "tour" });
	test("axe finds nothing on its card, its menu and what it says of blocking", async ({ shell }) => {
		await pick(shell, "revenue dashboard");
		await run(shell);
		const card = shell.getByRole("article", { name: /^App of tour/ });
		await expect(card.locator("iframe")).toBeVisible();
		expect(await complaints(shell), "card").toEqual([]);
		await card.getByRole("button", { name: "Menu of the app of tour" }).click();
		expect(await complaints(shell), "menu").toEqual([]);
		await shell.getByRole("menuitem", { name: "Why is this blocked?" }).click();
		await expect(shell.getByRole("dialog", { name: "What this app may do" })).toContainText("No site at all.");
		expect(await complaints(shell), "dialog").toEqual([]);
		await shell.keyboard.press("Escape");
		await card.getByRole("button", { name: "Menu of the app of tour" }).click();
		await shell.getByRole("menuitem", { name: "Open the text instead" }).click();
		await expect(card.locator("iframe")).toBeHidden();
		await expect(card.getByRole("tabpanel")).toBeVisible();
		expect(await complaints(shell), "text").toEqual([]);
	});
});

test.describe("with a conversation", () => {
	test.use({ servers: "tour" });
	for (const colorScheme of ["light", "dark"] as const) {
		test(`axe finds nothing on questions, answers and the composer, ${colorScheme}`, async ({ browser }) => {
			const model = await ScriptedModel.start();
			const usher = new Usher();
			const context = await browser.newContext({ colorScheme });
			try {
				usher.env = model.env;
				await usher.start();
				const page = await context.newPage();
				await page.goto(usher.url);
				const box = page.getByRole("textbox", { name: "Message to scripted" });
				const label = () =>
					page.evaluate(async () => {
						const catalog = await fetch("/v1/catalog").then((answer) => answer.json());
						return catalog.tools.find((tool: { name: string }) => tool.name === "plan_trip")?.label as string;
					});
				await expect.poll(label).toBeTruthy();
				model.says(
					{ thought: "A trip." },
					{ text: "# Lisbon\n\nI **plan**:\n\n| a | b |\n|---|---|\n| 1 | 2 |" },
					{ call: { name: await label(), arguments: { destination: "lis" } } },
				);
				model.says({ text: "Done." });
				await box.fill("Plan a trip");
				await box.press("Enter");
				const dock = page.getByRole("region", { name: "A question waits" });
				await expect(dock.getByRole("button", { name: /^Once/ })).toBeEnabled();
				expect(await complaints(page), "permission").toEqual([]);
				await dock.getByRole("button", { name: /^Once/ }).click();
				await dock.getByRole("button", { name: "Send to tour" }).click();
				await expect(dock.getByText("Needed.")).toBeVisible();
				expect(await complaints(page), "form").toEqual([]);
				await page.setViewportSize({ width: 360, height: 740 });
				expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
				expect(
					await page.evaluate(() =>
						[...document.querySelectorAll(".composer button, .dock button")].every(
							(button) => button.getBoundingClientRect().right <= innerWidth - 8,
						),
					),
				).toBe(true);
				await page.setViewportSize({ width: 1280, height: 800 });
				await dock.getByLabel("Name").fill("Ada");
				await dock.getByRole("button", { name: "Send to tour" }).click();
				await expect(page.getByText("2.4k in, 160 out")).toBeVisible();
				await page.getByText("Thoughts").click();
				await box.fill("/");
				await expect(page.getByRole("option").first()).toBeVisible();
				expect(await complaints(page), "answer").toEqual([]);
			} finally {
				await context.close();
				await usher.close();
				await model.close();
			}
		});
	}
});
