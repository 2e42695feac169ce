import { expect, pick, run, test, Usher } from "./usher";

test("the code leaves the address at once, and works once", async ({ usher, page, browser }) => {
	await page.goto(usher.url);
	await expect(page.getByRole("heading", { name: "Run a tool" })).toBeVisible();
	expect(page.url()).not.toContain("code");
	expect(await page.evaluate(() => document.cookie)).toBe("");
	await page.reload();
	await expect(page.getByRole("heading", { name: "Run a tool" })).toBeVisible();

	const other = await browser.newContext();
	const late = await other.newPage();
	await late.goto(usher.url);
	await expect(late.getByLabel("Address or code")).toBeVisible();
	await expect(late.getByText(/used/)).toBeVisible();
	await other.close();
});

test("progress is drawn while a call runs, and Cancel reaches the server", async ({ shell }) => {
	await pick(shell, "Slow work");
	await shell.getByLabel("steps").fill("400");
	await run(shell);
	const running = shell.getByRole("article", { name: /Slow work: Running/ });
	const bar = running.getByRole("progressbar");
	await expect(bar).toHaveAccessibleName(/step \d+ of 400/);
	const seen = await bar.evaluate((element: HTMLProgressElement) => element.value);
	await expect.poll(() => bar.evaluate((element: HTMLProgressElement) => element.value)).toBeGreaterThan(seen);
	await running.getByRole("button", { name: "Cancel" }).click();
	await expect(shell.getByRole("article", { name: "bench, Slow work: Cancelled" })).toBeVisible();
	await shell.goto(`${new URL(shell.url()).origin}/#/servers/bench/stderr`);
	await expect(shell.getByText("slow was cancelled")).toBeVisible();
});

test("two pages see the same events, and a reload loses nothing", async ({ shell, context }) => {
	await pick(shell, "Slow work");
	await shell.getByLabel("steps").fill("4000");
	await run(shell);
	await expect(shell.getByRole("article", { name: /Slow work: Running/ })).toBeVisible();
	const second = await context.newPage();
	await second.goto(shell.url());
	await expect(second.getByRole("progressbar")).toHaveAccessibleName(/step/);
	await shell.reload();
	await expect(shell.getByRole("article", { name: /Slow work: Running/ })).toBeVisible();
	// The bench is as it was before the reload.
	await expect(shell.getByLabel("steps")).toHaveValue("4000");
	await pick(shell, "Release");
	await run(shell);
	for (const page of [shell, second]) {
		await expect(page.getByRole("article", { name: "bench, Slow work: Done" })).toBeVisible();
		await expect(page.getByText("Done in 4000 steps.").first()).toBeVisible();
		await expect(page.getByRole("article", { name: "bench, Release: Done" })).toBeVisible();
	}
});

test("the page comes back when the daemon does", async ({ shell, usher, servers }) => {
	await pick(shell, "Refuse");
	await run(shell);
	await expect(shell.getByRole("article", { name: /Refuse/ })).toBeVisible();
	await usher.stop();
	await expect(shell.getByText("Reconnecting to the daemon…")).toBeVisible();
	await usher.start(servers === "tour" ? undefined : servers, new URL(usher.origin).host);
	await expect(shell.getByText("Reconnecting to the daemon…")).toBeHidden();
	await expect(shell.getByRole("article", { name: /Refuse/ })).toBeVisible();
	await pick(shell, "Gallery");
	await run(shell);
	await expect(shell.getByRole("article", { name: /Gallery: Done/ })).toBeVisible();
});

test("sessions are renamed, searched, deleted and brought back", async ({ shell }) => {
	const rail = shell.getByRole("navigation", { name: "Sessions and servers" });
	for (const name of ["Refuse", "Gallery"]) {
		await rail.getByRole("link", { name: "New session" }).click();
		await pick(shell, name);
		await run(shell);
		await expect(rail.getByRole("link", { name: new RegExp(name) })).toBeVisible();
	}
	await rail.getByRole("button", { name: "Menu of Refuse" }).click();
	await shell.getByRole("menuitem", { name: "Rename" }).click();
	await rail.getByLabel("New title of Refuse").fill("The refusal");
	await shell.keyboard.press("Enter");
	await expect(rail.getByRole("link", { name: /The refusal/ })).toBeVisible();

	await rail.getByLabel("Search sessions").fill("refusal");
	await expect(rail.getByRole("link", { name: /Gallery/ })).toBeHidden();
	await rail.getByLabel("Search sessions").fill("");

	const remove = async () => {
		await rail.getByRole("button", { name: "Menu of The refusal" }).click();
		await shell.getByRole("menuitem", { name: "Delete" }).click();
		await expect(rail.getByRole("link", { name: /The refusal/ })).toBeHidden();
	};
	await remove();
	await shell.getByRole("button", { name: "Undo" }).click();
	await expect(rail.getByRole("link", { name: /The refusal/ })).toBeVisible();
	await remove();
	// A page that closes deletes what it was told to.
	await shell.goto("about:blank");
	await shell.goBack();
	await expect(rail.getByRole("link", { name: /Gallery/ })).toBeVisible();
	await expect(rail.getByRole("link", { name: /The refusal/ })).toBeHidden();
});

test("a session that another window deletes says that it is gone", async ({ shell }) => {
	await pick(shell, "Refuse");
	await run(shell);
	await expect(shell.getByRole("article", { name: /Refuse/ })).toBeVisible();
	const id = shell.url().split("/").at(-1);
	await shell.evaluate((id) => fetch(`/v1/sessions/${id}`, { method: "DELETE" }), id);
	await expect(shell.getByText("This session is gone.")).toBeVisible();
});

test("a long session opens at its end, and the rest comes on the way up", async ({ shell }) => {
	await pick(shell, "Gallery");
	await run(shell);
	await expect(shell.getByRole("article", { name: /Gallery: Done/ })).toBeVisible();
	const id = shell.url().split("/").at(-1);
	const calls = 320;
	await shell.evaluate(
		async ({ id, calls }) => {
			const call = (tool: string) =>
				fetch(`/v1/sessions/${id}/calls`, {
					method: "POST",
					headers: { "Content-Type": "application/json" },
					body: JSON.stringify({ server: "bench", tool }),
				});
			for (let made = 0; made < calls; ) {
				// The daemon says when too many run at once; those are asked for again.
				const answers = await Promise.all(Array.from({ length: Math.min(16, calls - made) }, () => call("refuse")));
				made += answers.filter((answer) => answer.status === 202).length;
			}
		},
		{ id, calls },
	);
	await shell.reload();
	const cards = shell.getByRole("article");
	await expect(cards.last()).toBeInViewport();
	await expect(shell.getByText(/earlier entries/)).toBeAttached();
	expect(await cards.count()).toBeLessThan(calls);
	const transcript = shell.getByRole("region", { name: "Transcript" });
	const first = shell.getByRole("article", { name: /Gallery/ });
	await expect(async () => {
		await transcript.evaluate((box) => box.scrollTo(0, 0));
		await expect(first).toBeInViewport({ timeout: 500 });
	}).toPass();
	await expect(cards).toHaveCount(calls + 1);
	await shell.getByRole("button", { name: "Latest" }).click();
	await expect(cards.last()).toBeInViewport();
});

test("a session that is not there says so", async ({ shell, usher }) => {
	await shell.goto(`${usher.origin}/#/s/no-such-session`);
	await expect(shell.getByText("This session is gone.")).toBeVisible();
});

test("without servers configured the tour is there", async ({ page }) => {
	const usher = new Usher();
	try {
		await usher.start();
		await page.goto(usher.url);
		await expect(page.getByRole("link", { name: /Ready tour/ })).toBeVisible();
		await pick(page, "cho");
		await page.getByLabel(/message/i).fill("hello from the page");
		await run(page);
		await expect(page.getByRole("article", { name: /Done/ })).toContainText("hello from the page");
	} finally {
		await usher.close();
	}
});
