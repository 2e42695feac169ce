import { expect, pick, run, test } from "./usher";

test.use({ servers: "tour" });

/** Runs plan_trip without a contact, so that it asks for one. */
async function planTrip(page: import("@playwright/test").Page): Promise<void> {
	await pick(page, "Plan a trip");
	await page.getByLabel("Destination").selectOption({ label: "Lisbon" });
	await run(page);
	await expect(page.getByRole("region", { name: "A question waits" })).toBeVisible();
}

test("a tool asks with a form, and the answer reaches it", async ({ shell }) => {
	await planTrip(shell);
	const dock = shell.getByRole("region", { name: "A question waits" });
	await expect(dock).toContainText("tour asks you to fill in a form");
	await expect(dock).toContainText("Whom should the travel agency contact about this trip?");
	await expect(shell.getByRole("article", { name: "tour, Plan a trip: Waits for your answer" })).toBeVisible();
	const rail = shell.getByRole("navigation", { name: "Sessions and servers" });
	await expect(rail.getByRole("img", { name: "A question waits" })).toBeVisible();
	await expect(shell).toHaveTitle(/^◆ /);

	const send = dock.getByRole("button", { name: "Send to tour" });
	await send.click();
	await expect(dock.getByText("Needed.").first()).toBeVisible();
	await expect(dock.getByLabel("Name")).toBeFocused();
	await dock.getByLabel("Name").fill("Ada Lovelace");
	await dock.getByLabel(/^E-mail/).fill("not an address");
	await send.click();
	await expect(dock.getByText("Not a valid email.")).toBeVisible();
	await dock.getByLabel(/^E-mail/).fill("ada@example.com");
	await shell.keyboard.press("Enter");

	await expect(dock).toBeHidden();
	const card = shell.getByRole("article", { name: "tour, Plan a trip: Done" });
	await expect(card).toContainText("Contact: Ada Lovelace ada@example.com");
	const asked = shell.getByRole("group", { name: /Question: tour asks you to fill in a form Answered/ });
	await expect(asked).toContainText("Answered here");
	await asked.locator("summary").first().click();
	await expect(asked).toContainText("Ada Lovelace");
	await expect(rail.getByRole("img", { name: "A question waits" })).toBeHidden();

	// What the log keeps draws the same again.
	await shell.reload();
	await expect(shell.getByRole("group", { name: /fill in a form Answered/ })).toBeVisible();
	await expect(shell.getByRole("region", { name: "A question waits" })).toBeHidden();
});

test("declining is an answer too", async ({ shell }) => {
	await planTrip(shell);
	await shell.getByRole("button", { name: "Decline" }).click();
	await expect(shell.getByRole("article", { name: "tour, Plan a trip: Done" })).toContainText("was not planned");
	await expect(shell.getByRole("group", { name: /Declined/ })).toBeVisible();
});

test("the first answer counts, and the second window is told kindly", async ({ shell, context }) => {
	await planTrip(shell);
	const second = await context.newPage();
	await second.goto(shell.url());
	const late = second.getByRole("region", { name: "A question waits" });
	await late.getByLabel("Name").fill("Too Late");
	// The second window hears nothing more of the session, as after a sleep.
	await second.evaluate(() => {
		const answer = window.fetch;
		window.fetch = async (...args) => {
			if (String(args[0]).includes("/answer")) await (window as unknown as { first: Promise<void> }).first;
			return answer(...args);
		};
		(window as unknown as { first: Promise<void>; go(): void }).first = new Promise((resolve) => {
			(window as unknown as { go(): void }).go = resolve;
		});
	});
	await late.getByRole("button", { name: "Send to tour" }).click();
	await shell.getByLabel("Name").fill("First");
	await shell.getByRole("button", { name: "Send to tour" }).click();
	await expect(shell.getByRole("article", { name: "tour, Plan a trip: Done" })).toContainText("Contact: First");
	await second.evaluate(() => (window as unknown as { go(): void }).go());
	await expect(second.getByText(/^Too late: the question was answered/)).toBeVisible();
	await expect(late).toBeHidden();
	await expect(second.getByRole("article", { name: "tour, Plan a trip: Done" })).toContainText("Contact: First");
});

test("a question whose call is cancelled is withdrawn", async ({ shell }) => {
	await planTrip(shell);
	await shell
		.getByRole("article", { name: /Plan a trip/ })
		.getByRole("button", { name: "Cancel" })
		.click();
	await expect(shell.getByRole("region", { name: "A question waits" })).toBeHidden();
	await expect(shell.getByRole("group", { name: /Withdrawn/ })).toBeVisible();
});

test("a question that waits elsewhere is marked in the rail", async ({ shell }) => {
	await planTrip(shell);
	const rail = shell.getByRole("navigation", { name: "Sessions and servers" });
	await rail.getByRole("link", { name: "New session" }).click();
	const waiting = rail.getByRole("link", { name: /A question waits Plan a trip/ });
	await expect(waiting).toBeVisible();
	await expect(shell.getByRole("region", { name: "A question waits" })).toBeHidden();
	// Its answer in another window is seen here too.
	const question = await shell.evaluate(async () => {
		const { sessions } = await fetch("/v1/sessions").then((answer) => answer.json());
		const { events } = await fetch(`/v1/sessions/${sessions[0].id}/events?until=now&limit=100&after=0`).then((answer) =>
			answer.json(),
		);
		return events.find((event: { type: string }) => event.type === "question.asked").data.questionId as string;
	});
	await shell.evaluate(
		(id) =>
			fetch(`/v1/questions/${id}/answer`, {
				method: "POST",
				headers: { "Content-Type": "application/json" },
				body: JSON.stringify({ action: "decline", by: "chat" }),
			}),
		question,
	);
	await expect(rail.getByRole("img", { name: "A question waits" })).toBeHidden();
	await rail.getByRole("link", { name: /Plan a trip/ }).click();
	await expect(shell.getByRole("group", { name: /fill in a form Declined/ })).toContainText("in the terminal");
});
