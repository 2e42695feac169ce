import { gate, ScriptedModel } from "./model";
import { test as base, expect, pick } from "./usher";

const test = base.extend<{ model: ScriptedModel }>({
	// biome-ignore lint/correctness/noEmptyPattern: Playwright wants to see that nothing is asked for.
	model: async ({}, use) => {
		const model = await ScriptedModel.start();
		await use(model);
		await model.close();
	},
});

test("an answer streams as Markdown, thoughts folded, and says what it took", async ({ shell, model }) => {
	const rest = gate();
	model.says(
		{ thought: "The person greets me." },
		{ text: "# Hello\n\nThis is **bo" },
		{ wait: rest.opened },
		{ text: "ld** text.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n" },
	);
	const box = shell.getByRole("textbox", { name: "Message to scripted" });
	await box.fill("Hello");
	await box.press("Enter");
	const answer = shell.getByRole("article", { name: "The model" });
	await expect(answer.getByRole("heading", { name: "Hello" })).toBeVisible();
	// Half a mark is drawn as the whole it will be.
	await expect(answer.locator("strong")).toHaveText("bo");
	await expect(answer).toHaveAttribute("aria-busy", "true");
	await expect(shell.getByText("Working")).toBeVisible();
	rest.open();
	await expect(answer.locator("strong")).toHaveText("bold");
	await expect(answer.getByRole("table")).toBeVisible();
	await expect(answer).toHaveAttribute("aria-busy", "false");
	await expect(shell.getByText("1.2k in, 80 out")).toBeVisible();
	await expect(answer.getByText("Thoughts")).toBeVisible();
	await shell.reload();
	await expect(answer.getByRole("table")).toBeVisible();
	await expect(box).toHaveValue("");
	await box.press("ArrowUp");
	await expect(box).toHaveValue("Hello");
});

test("a tool runs only once it was allowed, with the key as with the button", async ({ shell, model }) => {
	const name = async () =>
		(await shell.evaluate(() => fetch("/v1/catalog").then((r) => r.json()))).tools.find(
			(tool: { name: string }) => tool.name === "gallery",
		).label;
	await expect.poll(name).toBeTruthy();
	const gallery = await name();
	model.says({ text: "Let me look." }, { call: { name: gallery, arguments: {} } });
	model.says({ call: { name: gallery, arguments: {} } });
	model.says({ text: "Seen, and then refused." });
	const box = shell.getByRole("textbox", { name: "Message to scripted" });
	await box.fill("Look at the gallery");
	await box.press("Enter");
	const dock = shell.getByRole("region", { name: "A question waits" });
	await expect(dock).toContainText("May Gallery of bench run?");
	await expect(dock).toContainText("bench says of it, and nobody checked:");
	await expect(shell.getByRole("article", { name: "bench, Gallery: Waits for your answer" })).toBeVisible();
	// The box is empty, so the hand is led to the question, and the keys count there.
	await expect(dock).toBeFocused();
	await expect(dock.getByRole("button", { name: /^Once/ })).toBeEnabled();
	await shell.keyboard.press("y");
	await expect(shell.getByRole("group", { name: /May Gallery of bench run\? Allowed once/ })).toBeVisible();
	await expect(shell.getByRole("article", { name: "bench, Gallery: Done" })).toBeVisible();
	await dock.getByRole("button", { name: /^No/ }).click();
	await expect(dock).toBeHidden();
	await expect(shell.getByRole("article", { name: "bench, Gallery: Denied" })).toBeVisible();
	await expect(shell.getByText("Seen, and then refused.")).toBeVisible();
	const told = model.asked.at(-1)?.messages.at(-1);
	expect(told?.role).toBe("tool");
	expect(JSON.stringify(told?.content)).toContain("no");
});

test("Esc stops the model, and what it said stays", async ({ shell, model }) => {
	model.says({ text: "One moment" }, { wait: new Promise(() => {}) });
	const box = shell.getByRole("textbox", { name: "Message to scripted" });
	await box.fill("Count to a million");
	await box.press("Enter");
	await expect(shell.getByText("One moment")).toBeVisible();
	await box.press("Escape");
	await model.asked[0]?.gone;
	await expect(shell.getByText("You stopped the turn.").last()).toBeVisible();
	await expect(shell.getByText("One moment")).toBeVisible();
	await expect(shell.getByRole("button", { name: "Stop" })).toBeHidden();
});

test("a model that fails says why", async ({ shell }) => {
	const box = shell.getByRole("textbox", { name: "Message to scripted" });
	await box.fill("Say something");
	await box.press("Enter");
	await expect(shell.locator(".turn .problem")).toContainText("the script has no more answers");
});

test("with a model the bench is still there", async ({ shell }) => {
	await pick(shell, "Refuse");
	await shell.getByRole("button", { name: "Run", exact: true }).click();
	await expect(shell.getByRole("article", { name: "bench, Refuse: Tool error" })).toBeVisible();
	await shell.getByRole("button", { name: "Put away" }).click();
	await expect(shell.getByRole("textbox", { name: "Message to scripted" })).toBeVisible();
});

test.describe("with the tour", () => {
	test.use({ servers: "tour" });
	test("prompts and resources come into the message", async ({ shell, model }) => {
		const box = shell.getByRole("textbox", { name: "Message to scripted" });
		await box.click();
		await shell.keyboard.type("/brief");
		const list = shell.getByRole("listbox", { name: "Prompts and tools" });
		await expect(list.getByRole("option").first()).toContainText("Revenue briefing");
		await shell.keyboard.press("Enter");
		await shell.getByLabel("Region").fill("Europe");
		await shell.getByRole("button", { name: "Put into the message" }).click();
		await expect(box).toHaveValue(/revenue of the region Europe/);
		await expect(box).toBeFocused();
		await box.fill("Read ");
		await box.press("End");
		await shell.keyboard.type("@welc");
		await expect(shell.getByRole("listbox", { name: "Resources" }).getByRole("option").first()).toContainText(
			/Welcome/,
		);
		await shell.keyboard.press("Tab");
		await expect(box).toHaveValue(/^Read @tour:\S+ $/);
		model.says({ text: "I have read it." });
		await box.press("Enter");
		await expect(shell.getByText("I have read it.")).toBeVisible();
		const message = shell.getByRole("article", { name: "You wrote" });
		await message.locator("summary").click();
		await expect(message).toContainText("plan_trip");
		const said = JSON.stringify(model.asked[0]?.messages.findLast((one) => one.role === "user")?.content);
		expect(said).toContain("Read @tour:");
		expect(said).toContain("plan_trip");
	});
});
