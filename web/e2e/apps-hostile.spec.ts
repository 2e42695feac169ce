import { appFrame, appServer, enter, height, openApp, phase, startCanary } from "./apps";
import { expect, test, Usher } from "./usher";

/** A daemon that logs each request, and a server that nobody is to reach. */
const hostile = test.extend<{ canary: Awaited<ReturnType<typeof startCanary>>; logged: Usher }>({
	// biome-ignore lint/correctness/noEmptyPattern: Playwright reads the fixture's needs from the pattern.
	canary: async ({}, use) => {
		const canary = await startCanary();
		await use(canary);
		await canary.close();
	},
	logged: async ({ canary }, use) => {
		const usher = new Usher();
		usher.flags = ["--verbose"];
		try {
			await usher.start({ apps: appServer(canary.origin) });
			await use(usher);
		} finally {
			await usher.close();
		}
	},
});

hostile("a hostile app reaches nothing", async ({ page, logged, canary }) => {
	hostile.setTimeout(180_000);
	await enter(page, logged);
	// Another app, for the hostile one to meddle with.
	const neighbour = await openApp(page, "apps", "Show revenue dashboard");
	await expect((await appFrame(neighbour)).getByText("North: 120")).toBeVisible();
	await page.evaluate(() => localStorage.setItem("secret", "of the page"));
	const cookies = await page.context().cookies();
	expect(cookies).not.toEqual([]);

	const card = await openApp(page, "apps", "Hostile");
	const app = await appFrame(card);
	const before = logged.stderr;
	await expect.poll(() => app.evaluate("window.report?.done ?? false"), { timeout: 150_000 }).toBe(true);
	const report = (await app.evaluate("window.report")) as Record<string, unknown>;
	delete report.done;
	expect(Object.keys(report).length).toBeGreaterThan(150);
	const got = Object.entries(report).filter(([, outcome]) => outcome !== "stopped");
	expect(got).toEqual([]);

	// The oracles: what the canary and the daemon saw.
	// A browser may open a connection for a frame before the policy forbids the frame. Nothing goes over it.
	expect(canary.hits.filter((hit) => hit !== "connection")).toEqual([]);
	const during = logged.stderr.slice(before.length);
	for (const route of ["/healthz", "/v1/servers/{name}/stderr", "GET /sandbox"]) expect(during).not.toContain(route);
	expect(logged.stderr).toContain("/sandbox"); // the log does tell of requests

	// The page, its login and the other app are as they were.
	expect(page.url()).toContain(logged.origin);
	expect(await page.context().cookies()).toEqual(cookies);
	await expect((await appFrame(neighbour)).getByText("North: 120")).toBeVisible();
	await expect.poll(() => phase(neighbour)).toBe("shown");
});

hostile("malformed, huge and endless messages harm nobody", async ({ page, logged }) => {
	const errors: string[] = [];
	page.on("pageerror", (error) => errors.push(error.message));
	await enter(page, logged);
	const card = await openApp(page, "apps", "Noisy");
	const app = await appFrame(card);
	await expect.poll(() => height(card), { timeout: 20_000 }).toBe(222);
	expect(await phase(card)).toBe("shown");
	const answers = (await app.evaluate(
		"Object.fromEntries(heard.filter((m) => String(m.id).startsWith('ask')).map((m) => [m.id.slice(4), m.error ? m.error.code : m.result]))",
	)) as Record<string, unknown>;
	// No privileged capability: each is answered, and none is there.
	expect(answers).toEqual({
		"tools/call": -32601,
		"tools/list": -32601,
		"resources/read": -32601,
		"resources/list": -32601,
		"prompts/list": -32601,
		"ui/open-link": -32601,
		"ui/message": -32601,
		"ui/download-file": -32601,
		"ui/update-model-context": -32601,
		"sampling/createMessage": -32601,
		mode: { mode: "inline" },
	});
	expect(errors).toEqual([]);
	await expect(
		page
			.getByRole("button", { name: "New session" })
			.or(page.getByRole("link", { name: "New session" }))
			.first(),
	).toBeVisible();
});

hostile("an app cannot speak for the host, for another app, or from a frame of its own", async ({ page, logged }) => {
	await enter(page, logged);
	const neighbour = await openApp(page, "apps", "Show revenue dashboard");
	const good = await appFrame(neighbour);
	await expect(good.getByText("North: 120")).toBeVisible();
	await expect.poll(() => height(neighbour)).toBe(300);
	const card = await openApp(page, "apps", "Forger");
	await expect.poll(() => height(card)).toBe(123);
	const app = await appFrame(card);
	await expect.poll(() => app.childFrames().length).toBe(1);
	// A round trip through the host, so that whatever was forged has arrived.
	await app.evaluate("size(140)");
	await expect.poll(() => height(card)).toBe(140);
	await expect(good.getByText("North: 120")).toBeVisible();
	expect(await good.evaluate("heard.length")).toBe(3);
	expect(await height(neighbour)).toBe(300);
	expect(await phase(neighbour)).toBe("shown");
	expect(await phase(card)).toBe("shown");
});

hostile("only whole origins that the app declared are in its policy", async ({ page, logged, canary }) => {
	const policies: string[] = [];
	page.on("response", (response) => {
		if (response.url().includes("/sandbox")) policies.push(response.headers()["content-security-policy"] ?? "");
	});
	await enter(page, logged);
	const card = await openApp(page, "apps", "Declaring");
	await expect((await appFrame(card)).getByText("North: 120")).toBeVisible();
	expect(policies).toHaveLength(1);
	expect(policies[0]).toContain(`connect-src ${canary.origin} https://api.example;`);
	expect(policies[0]).toContain("script-src 'unsafe-inline' blob: data:;");
	expect(policies[0]).not.toContain("evil");
	expect(policies[0]).toContain(`frame-ancestors ${logged.origin};`);
	// What it declared it gets.
	expect(await (await appFrame(card)).evaluate(`fetch("${canary.origin}/allowed").then((r) => r.text())`)).toBe(
		"caught",
	);

	const framing = await openApp(page, "apps", "Framing");
	const app = await appFrame(framing);
	await expect(app.getByText("North: 120")).toBeVisible();
	expect(policies[1]).toContain("frame-src 'none'");
	await app.evaluate(
		`{ const f = document.createElement("iframe"); f.src = "${canary.origin}/framed"; document.body.append(f); }`,
	);
	await app.evaluate("new Promise((done) => setTimeout(done, 300))");
	expect(canary.hits).not.toContain("GET /framed");
});

hostile(
	"the sandbox's page holds nothing, takes nothing in and is opaque on its own",
	async ({ page, logged, request }) => {
		const sandbox = `${logged.origin.replace("127.0.0.1", "localhost")}/sandbox`;
		for (const csp of [
			{ connectDomains: ["https://evil.example; script-src *"] },
			{
				resourceDomains: [
					"'self'",
					"*",
					"https://evil.example,https://b.example",
					"https://evil.example\r\nSet-Cookie: a=b",
				],
			},
			{ frameDomains: ["https://evil.example"], baseUriDomains: ["https://evil.example."] },
			{ connectDomains: [logged.origin, sandbox.replace("/sandbox", "")] },
		]) {
			const response = await request.get(
				`${sandbox}?${new URLSearchParams({ host: logged.origin, csp: JSON.stringify(csp) })}`,
			);
			expect(response.status()).toBe(200);
			const policy = response.headers()["content-security-policy"] ?? "";
			expect(policy).toBe(
				"default-src 'none'; script-src 'unsafe-inline' blob: data:; style-src 'unsafe-inline' blob: data:; img-src blob: data:; " +
					"font-src blob: data:; media-src blob: data:; connect-src 'none'; worker-src blob:; frame-src 'none'; object-src 'none'; " +
					`base-uri 'none'; form-action 'none'; frame-ancestors ${logged.origin}; sandbox allow-scripts allow-forms`,
			);
			expect(response.headers()["set-cookie"]).toBeUndefined();
			expect(response.headers()["cache-control"]).toBe("no-store");
		}
		for (const query of ["host=https://evil.example", "csp=x", `host=${logged.origin}&host=${logged.origin}`]) {
			expect((await request.get(`${sandbox}?${query}`)).status()).toBe(400);
		}
		await page.goto(`${sandbox}?host=${encodeURIComponent(logged.origin)}`);
		expect(await page.evaluate("self.origin")).toBe("null");
		await expect(page.getByText("There is nothing to see here")).toBeVisible();
		await expect(page.locator("iframe")).toHaveCount(0);
	},
);

hostile("a foreign page cannot frame an app's sandbox", async ({ page, logged, canary }) => {
	await page.goto(`${canary.origin}/page`);
	const url = `${logged.origin.replace("127.0.0.1", "localhost")}/sandbox?host=${encodeURIComponent(logged.origin)}`;
	await page.evaluate((src) => {
		const frame = document.createElement("iframe");
		Object.assign(window, { told: [] as unknown[] });
		addEventListener("message", (event) => (window as unknown as { told: unknown[] }).told.push(event.data));
		document.body.append(frame);
		return new Promise((resolve) => {
			frame.onload = resolve;
			frame.src = src;
		});
	}, url);
	expect(page.frames().at(-1)?.url()).toMatch(/^chrome-error:/);
	expect(await page.evaluate("window.told")).toEqual([]);
});
