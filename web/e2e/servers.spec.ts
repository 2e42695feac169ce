import { benchServers, expect, manyTools, test, Usher } from "./usher";

test("the table tells how every server stands", async ({ shell, usher }) => {
	await shell.goto(`${usher.origin}/#/servers`);
	const row = (name: string) => shell.getByRole("row", { name: new RegExp(name) });
	await expect(row("bench")).toContainText("Ready");
	await expect(row("bench")).toContainText("legacy 2025-06-18");
	await expect(row("bench")).toContainText("stdio");
	await expect(row("broken")).toContainText("Failed");
	await expect(row("broken")).toContainText("usher-test-no-such-command");
	await expect(row("resting")).toContainText("Disabled");
	const rail = shell.getByRole("navigation", { name: "Sessions and servers" });
	await expect(rail.getByRole("img", { name: "Failed" })).toBeVisible();
});

test("a server's page shows what it is, what it wrote, and what it offers", async ({ shell, usher }) => {
	await shell.goto(`${usher.origin}/#/servers/bench`);
	await expect(shell.getByText("Bench server 1.2.3")).toBeVisible();
	await expect(shell.getByText("Book a room first.")).toBeVisible();
	await expect(shell.getByRole("table")).toContainText("command");
	await shell.getByRole("tab", { name: "stderr" }).click();
	await expect(shell.getByText("bench server starts")).toBeVisible();
	await shell.getByRole("tab", { name: /Tools/ }).click();
	await shell.getByLabel("Search tools").fill("reports its progress");
	await expect(shell.getByRole("listitem").filter({ hasText: "Slow work" })).toBeVisible();
	await expect(shell.getByText("Book a room", { exact: true })).toBeHidden();
	await shell.getByText("Schema").click();
	await expect(shell.getByText("bench__slow")).toBeVisible();
	await shell.getByRole("button", { name: "Use Slow work" }).click();
	await expect(shell.getByRole("form", { name: "Tool bench" })).toContainText("Slow work");
});

test("a broken server says the phase and the next step", async ({ shell, usher }) => {
	await shell.goto(`${usher.origin}/#/servers/broken`);
	const problem = shell.locator(".problem");
	await expect(problem).toContainText("usher-test-no-such-command");
	await expect(problem).toContainText("while starting the server");
	await expect(problem).toContainText("Next:");
});

test("servers are turned off, on, and connected anew", async ({ shell, usher }) => {
	await shell.goto(`${usher.origin}/#/servers/bench`);
	const state = shell.getByText(/since/);
	await expect(state).toBeVisible();
	await shell.getByRole("button", { name: "Disable" }).click();
	await expect(shell.getByRole("button", { name: "Enable" })).toBeVisible();
	await shell.getByRole("button", { name: "Enable" }).click();
	await expect(shell.locator(".facts")).toContainText("Ready");
	const starts = () => shell.locator(".facts div", { hasText: "Starts" }).locator("dd").textContent();
	const before = Number(await starts());
	await shell.getByRole("button", { name: "Reconnect" }).click();
	await expect.poll(async () => Number(await starts())).toBeGreaterThan(before);
	await expect(shell.locator(".facts")).toContainText("Ready");
});

test("a project's server runs once a person saw what would run", async ({ page }) => {
	const usher = new Usher();
	try {
		usher.project({ bench: { ...benchServers.bench, env: { NODE_OPTIONS: "--no-warnings" } } });
		await usher.start();
		await page.goto(usher.url);
		await page.getByRole("link", { name: /Waits for your approval bench/ }).click();
		await page.getByRole("button", { name: "Review and approve" }).click();
		const dialog = page.getByRole("dialog", { name: "Approve bench?" });
		await expect(dialog.locator("pre")).toContainText("node");
		await expect(dialog.locator("pre")).toContainText("fixtures/server.mjs");
		await expect(dialog).toContainText(".mcp.json");
		// What decides the code that runs is shown as the file has it, and pointed out.
		const options = dialog.getByRole("row", { name: /env/ });
		await expect(options).toContainText("NODE_OPTIONS=--no-warnings");
		await expect(options.locator(".setting-note")).not.toBeEmpty();
		await dialog.getByRole("button", { name: "Not now" }).click();
		await expect(page.locator(".facts")).toContainText("Waits for your approval");
		await page.getByRole("button", { name: "Review and approve" }).click();
		await dialog.getByRole("button", { name: "Approve and start" }).click();
		await expect(page.locator(".facts")).toContainText("Ready");
	} finally {
		await usher.close();
	}
});

test.describe("with thousands of tools", () => {
	test.use({ servers: manyTools(3000) });
	test("finding one of them is quick, and lists come by the page", async ({ shell, usher }) => {
		await shell.goto(`${usher.origin}/#/servers/many/tools`);
		await expect(shell.getByRole("tab", { name: /Tools 3,00\d/ })).toBeVisible();
		expect(await shell.getByRole("listitem").filter({ hasText: "Generated" }).count()).toBeLessThan(100);
		await shell.getByRole("button", { name: /Show 50 more/ }).click();
		await shell.keyboard.press("Control+k");
		await shell.getByRole("combobox").fill("2999");
		await expect(shell.getByRole("option")).toHaveCount(1);
		await expect(shell.getByRole("option")).toContainText("Generated 2999");
	});
});
