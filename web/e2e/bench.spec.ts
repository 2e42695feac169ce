import { expect, pick, run, test } from "./usher";

test("a form grows from the schema, and its values reach the server", async ({ shell }) => {
	await pick(shell, "Book a room");
	const form = shell.getByRole("form", { name: "Tool bench" });
	await expect(form.getByText("The server says it may destroy.")).toBeVisible();
	await form.getByLabel("Guest").fill("Ada Lovelace");
	await form.getByLabel("Nights").fill("3");
	await form.getByLabel("Room", { exact: true }).selectOption("Double");
	await form.getByRole("switch", { name: "Breakfast" }).check();
	await form.getByLabel("Arrival").fill("2026-05-04");
	await form.getByLabel("Email").fill("ada@example.com");
	await form.getByRole("checkbox", { name: "bike" }).check();
	await form.getByRole("button", { name: "Add an item" }).click();
	await form.getByLabel("Name").fill("Charles");
	await form.getByLabel("City").fill("London");
	await form.getByLabel("Notes").fill("two\nlines");
	await form.getByLabel("Meta").fill('{"vip": true}');
	await run(shell);

	const card = shell.getByRole("article", { name: "bench, Book a room: Done" });
	await expect(card).toBeVisible();
	await card.getByRole("tab", { name: "Raw" }).click();
	const raw = JSON.parse((await card.locator("pre").textContent()) ?? "");
	expect(raw.result.structuredContent.booked).toEqual({
		guest: "Ada Lovelace",
		nights: 3,
		room: "d",
		breakfast: true,
		arrival: "2026-05-04",
		email: "ada@example.com",
		extras: ["bike"],
		others: [{ name: "Charles" }],
		address: { city: "London" },
		notes: "two\nlines",
		meta: { vip: true },
	});
	await expect(shell).toHaveTitle(/Book a room/);
});

test("what is missing or wrong is said beside its field, and nothing runs", async ({ shell }) => {
	await pick(shell, "Book a room");
	await run(shell);
	await expect(shell.getByText("5 things need attention.")).toBeVisible();
	const guest = shell.getByLabel("Guest");
	await expect(guest).toBeFocused();
	await expect(guest).toHaveAccessibleDescription(/Needed/);
	await guest.fill("A");
	await expect(guest).toHaveAccessibleDescription(/at least 2 characters/);
	await shell.getByLabel("Nights").fill("many");
	await expect(shell.getByLabel("Nights")).toHaveAccessibleDescription(/whole number/);
	await expect(shell.getByRole("article")).toHaveCount(0);

	// The server has the last word: a person may ask it anyway.
	await shell.getByRole("button", { name: "Run anyway" }).click();
	await expect(shell.getByRole("article", { name: /Book a room/ })).toBeVisible();
});

test("the form and its JSON stay in step, and digits are sent as typed", async ({ shell }) => {
	await pick(shell, "Book a room");
	await shell.getByLabel("Guest").fill("Ada");
	await shell.getByRole("button", { name: "JSON", exact: true }).click();
	const text = shell.getByLabel("Arguments as JSON");
	expect(JSON.parse(await text.inputValue())).toMatchObject({ guest: "Ada" });
	await text.fill("{");
	await expect(shell.getByText(/Not JSON yet/)).toBeVisible();
	await run(shell);
	await expect(shell.getByRole("article")).toHaveCount(0);
	await text.fill(
		'{"guest":"Bo","nights":2,"room":"s","email":"b@c.de","address":{"city":"X"},"meta":{"id":12345678901234567890}}',
	);
	await shell.getByRole("button", { name: "Form", exact: true }).click();
	await expect(shell.getByLabel("Guest")).toHaveValue("Bo");
	await expect(shell.getByLabel("Room", { exact: true })).toHaveValue("0");
	await expect(shell.getByLabel("Meta")).toHaveValue(/12345678901234567890/);
	await shell.getByLabel("Guest").fill("Bob");
	await run(shell);
	const card = shell.getByRole("article", { name: "bench, Book a room: Done" });
	await card.getByRole("tab", { name: "Arguments" }).click();
	await expect(card).toContainText("12345678901234567890");
	await expect(card).toContainText('"Bob"');
});

test("prompts complete and show their messages; resources and templates are read", async ({ shell }) => {
	await pick(shell, "Greet");
	await shell.getByLabel("who").fill("Ada");
	const style = shell.getByLabel("style");
	await style.fill("p");
	await expect(shell.locator("datalist option[value=pirate]")).toBeAttached();
	await style.fill("pirate");
	await shell.getByRole("button", { name: "Show messages" }).click();
	const messages = shell.getByRole("dialog", { name: "Greet" });
	await expect(messages).toContainText("Greet Ada in a pirate way");
	await shell.keyboard.press("Escape");
	await expect(messages).toBeHidden();

	await pick(shell, "A note");
	await shell.getByLabel("id").fill("a b");
	await shell.getByRole("button", { name: "Read" }).click();
	await expect(shell.getByRole("dialog")).toContainText("Contents of bench://note/a%20b");
	await shell.keyboard.press("Escape");
});

test("every kind of content is shown, and a link only when asked", async ({ shell }) => {
	await pick(shell, "Gallery");
	await run(shell);
	const card = shell.getByRole("article", { name: "bench, Gallery: Done" });
	await expect(card.getByRole("heading", { name: "Findings" })).toBeVisible();
	await expect(card.getByRole("cell", { name: "1,204" })).toBeVisible();
	await expect(card.getByRole("link", { name: "the report" })).toHaveAttribute("rel", /noopener/);
	await expect(card.locator("img")).toHaveJSProperty("naturalWidth", 10);
	await expect(card).toContainText("42");
	await expect(card).toContainText("hologram");
	await card.getByRole("button", { name: "The readme" }).click();
	await expect(shell.getByRole("dialog", { name: "bench://readme" })).toContainText("Contents of bench://readme");
});

test("content that is wrong in every way harms neither the page nor the rest of it", async ({ shell }) => {
	shell.on("dialog", () => {
		throw new Error("a script of the server ran");
	});
	await pick(shell, "Mess");
	await run(shell);
	const card = shell.getByRole("article", { name: /Mess/ });
	await expect(card.getByText("still here")).toBeVisible();
	await expect(card.getByRole("link", { name: "click" })).toHaveCount(0);
	await expect(card.locator("img[src=x]")).toHaveCount(0);
	await expect(card).toContainText("deep");
});

test("errors say what failed, where, and what to do", async ({ shell }) => {
	await pick(shell, "Refuse");
	await run(shell);
	await expect(shell.getByRole("article", { name: "bench, Refuse: Tool error" })).toContainText("The room is taken.");
	await pick(shell, "Break");
	await run(shell);
	const card = shell.getByRole("article", { name: "bench, Break: Failed" });
	await expect(card).toContainText("the database is gone");
	await expect(card).toContainText("during the call");
});

test("a call is edited and run again", async ({ shell }) => {
	await pick(shell, "Slow work");
	await shell.getByLabel("steps").fill("1");
	await run(shell);
	const first = shell.getByRole("article", { name: "bench, Slow work: Done" });
	await expect(first).toBeVisible();
	await shell.getByRole("button", { name: "Put away" }).click();
	await first.getByRole("button", { name: "Edit and run again" }).click();
	await expect(shell.getByLabel("steps")).toHaveValue("1");
	await shell.getByLabel("steps").fill("2");
	await shell.keyboard.press("Control+Enter");
	await expect(shell.getByText("Done in 2 steps.").first()).toBeVisible();
});
