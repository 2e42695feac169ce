import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { appFrame, appServer, enter, height, openApp, phase, sample } from "./apps";
import { expect, pick, run, test, Usher } from "./usher";

const apps = { apps: appServer() };

test.describe("one good app", () => {
	test.use({ servers: apps });

	test("is drawn in the transcript with its input and result, and again after a reload and on a second page", async ({
		shell,
		context,
	}) => {
		const check = async (page: typeof shell) => {
			const card = page.getByRole("article", { name: "App of apps: Show revenue dashboard" });
			const app = await appFrame(card);
			await expect(app.getByRole("heading", { name: "Revenue 2025" })).toBeVisible();
			await expect(app.getByText("North: 120")).toBeVisible();
			await expect.poll(() => phase(card)).toBe("shown");
			await expect.poll(() => height(card)).toBe(300);
			const heard = await app.evaluate("heard.map((m) => m.method ?? 'answer')");
			expect(heard).toEqual(["answer", "ui/notifications/tool-input", "ui/notifications/tool-result"]);
			expect(await app.evaluate("heard[1].params")).toEqual({ arguments: {} });
			expect(await app.evaluate("heard[2].params")).toMatchObject({
				content: [{ type: "text", text: "Revenue 2025. North: 120. South: 95." }],
				structuredContent: { year: 2025 },
			});
			return app;
		};
		await openApp(shell, "apps", "Show revenue dashboard");
		const app = await check(shell);

		// What it was told about where it is.
		const answer = (await app.evaluate("heard[0].result")) as Record<string, unknown>;
		expect(answer.hostCapabilities).toEqual({ sandbox: { csp: {} } });
		expect(answer.hostContext).toMatchObject({
			theme: "light",
			platform: "web",
			displayMode: "inline",
			availableDisplayModes: ["inline"],
			containerDimensions: { maxHeight: 800 },
			toolInfo: { tool: { name: "show_revenue_dashboard" } },
		});

		// How it is confined.
		const outer = shell.locator("article.app iframe");
		await expect(outer).toHaveAttribute("sandbox", "allow-scripts allow-forms");
		const src = new URL((await outer.getAttribute("src")) ?? "");
		expect(src.hostname).toBe("localhost");
		expect(src.searchParams.get("host")).toBe(new URL(shell.url()).origin);
		expect(await app.evaluate("self.origin")).toBe("null");
		expect(await app.parentFrame()?.evaluate("self.origin")).toBe("null");
		expect(await app.parentFrame()?.locator("iframe").getAttribute("sandbox")).toBe("allow-scripts allow-forms");

		await shell.reload();
		await check(shell);
		const second = await context.newPage();
		await second.goto(shell.url());
		await check(second);
	});

	test("follows the theme without being loaded again", async ({ shell }) => {
		await shell.emulateMedia({ colorScheme: null }); // what is emulated would hold in the app's frame too
		const card = await openApp(shell, "apps", "Show revenue dashboard");
		const app = await appFrame(card);
		await expect(app.getByRole("heading")).toBeVisible();
		await app.evaluate("window.kept = true");
		await shell.getByRole("button", { name: "Dark", exact: true }).click();
		await expect.poll(() => app.evaluate("heard.at(-1).method")).toBe("ui/notifications/host-context-changed");
		expect(await app.evaluate("heard.at(-1).params.theme")).toBe("dark");
		expect(await app.evaluate("heard.at(-1).params.styles.variables['--color-background-primary']")).toBe("#181b19");
		expect(await app.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")).toBe(true);
		expect(await app.evaluate("kept")).toBe(true);
	});

	test("gives way to text when its frame cannot be on an origin of its own", async ({ page, usher }) => {
		// Another program has the other loopback address of the port.
		const stranger = createServer((socket) => socket.destroy());
		await new Promise<void>((resolve) => stranger.listen(0, "::1", resolve));
		const { port } = stranger.address() as { port: number };
		await usher.stop();
		await usher.start(apps, `127.0.0.1:${port}`);
		await enter(page, usher);
		await pick(page, "Show revenue dashboard");
		await run(page);
		const card = page.getByRole("article", { name: "App of apps: Show revenue dashboard" });
		await expect(card.getByText(/The app is not shown: another program may answer/)).toBeVisible();
		await expect(card.getByText("North: 120").first()).toBeVisible();
		await expect(page.locator("iframe")).toHaveCount(0);
		await new Promise((resolve) => stranger.close(resolve));
	});

	test("is compacted to its text, and no frame is made", async ({ shell, usher }) => {
		const card = await openApp(shell, "apps", "Show revenue dashboard");
		await expect.poll(() => phase(card)).toBe("shown");
		const id = /\/s\/([^/?]+)/.exec(shell.url())?.[1] ?? "";
		const compacted = await shell.evaluate(
			(path) => fetch(path, { method: "POST" }).then((response) => response.status),
			`/v1/sessions/${id}/compact`,
		);
		expect(compacted).toBe(200);

		// The log keeps what it was, and the text as it was.
		const log = await shell.request.get(`${usher.origin}/v1/sessions/${id}/events?until=now&after=0`);
		const { events } = (await log.json()) as {
			events: { type: string; data: { display?: Record<string, unknown> } }[];
		};
		const display = events.find((event) => event.type === "call.finished")?.data.display;
		expect(display).toMatchObject({ type: "mcp_app", html: "", fallbackText: "Revenue 2025. North: 120. South: 95." });

		const requested: string[] = [];
		shell.on("request", (request) => requested.push(request.url()));
		await shell.reload();
		await expect(shell.getByRole("article", { name: /Show revenue dashboard/ })).toContainText(
			"Revenue 2025. North: 120. South: 95.",
		);
		await expect(shell.locator("iframe")).toHaveCount(0);
		expect(requested.filter((url) => url.includes("/sandbox"))).toEqual([]);
	});

	test("makes room when many are open, and comes back when asked", async ({ shell }) => {
		test.setTimeout(120_000);
		await pick(shell, "Show revenue dashboard");
		for (let i = 1; i <= 11; i++) {
			await run(shell);
			await expect(shell.getByRole("article", { name: "App of apps: Show revenue dashboard" })).toHaveCount(i);
			const card = shell.getByRole("article", { name: "App of apps: Show revenue dashboard" }).last();
			await card.scrollIntoViewIfNeeded();
			await expect.poll(() => phase(card)).toBe("shown");
		}
		await expect.poll(() => shell.locator("iframe").count()).toBeLessThanOrEqual(9);
		const first = shell.getByRole("article", { name: "App of apps: Show revenue dashboard" }).first();
		await first.scrollIntoViewIfNeeded();
		await first.getByRole("button", { name: "Open it again" }).click();
		await expect((await appFrame(first)).getByText("North: 120")).toBeVisible();
	});

	test.describe("refusals", () => {
		for (const [title, reason] of [
			["Wrong type", 'the app\'s media type is "text/html"; it must be text/html;profile=mcp-app'],
			["Missing", "could not be read"],
			["Empty", "the app's resource is empty"],
			["Too large", "the app's HTML is 1,048,591 bytes; the limit is 1,048,576"],
			["Bad link", "does not start with ui://"],
		] as const) {
			test(`${title}: the text stays, with the reason`, async ({ shell }) => {
				await pick(shell, title);
				await run(shell);
				const card = shell.getByRole("article", { name: `apps, ${title}: Done` });
				await expect(card.getByText(/The app is not shown/)).toContainText(reason);
				await expect(card).toContainText("Revenue 2025. North: 120. South: 95.");
				await expect(shell.locator("iframe")).toHaveCount(0);
			});
		}
	});

	test("a tool that fails has no app", async ({ shell }) => {
		await pick(shell, "Failing");
		await run(shell);
		await expect(shell.getByRole("article", { name: "apps, Failing: Tool error" })).toBeVisible();
		await expect(shell.locator("iframe")).toHaveCount(0);
	});
});

test.describe("an app's life", () => {
	test.use({ servers: apps });

	test("one that never starts gives way to its text", async ({ shell }) => {
		const card = await openApp(shell, "apps", "Silent");
		await expect(card.getByText("The app is not shown: it did not start within 10 seconds")).toBeVisible();
		await expect(card.getByText("North: 120").first()).toBeVisible();
		await expect(shell.locator("iframe")).toHaveCount(0);
	});

	test("the time it has to start is a setting", async ({ page }, info) => {
		const config = info.outputPath("usher.json");
		writeFileSync(config, JSON.stringify({ mcpServers: apps, mcpApps: { readyTimeout: "2s" } }));
		const usher = new Usher();
		usher.flags = ["--config", config];
		try {
			await usher.start();
			await enter(page, usher);
			const card = await openApp(page, "apps", "Silent");
			await expect(card.getByText("The app is not shown: it did not start within 2 seconds")).toBeVisible();
		} finally {
			await usher.close();
		}
	});

	test("one that starts over is told everything again", async ({ shell }) => {
		const card = await openApp(shell, "apps", "Restarting");
		const app = await appFrame(card);
		await expect.poll(() => height(card)).toBe(177);
		expect(await app.evaluate("heard.map((m) => m.method ?? 'answer')")).toEqual([
			"answer",
			"ui/notifications/tool-input",
			"ui/notifications/tool-result",
			"answer",
			"ui/notifications/tool-input",
			"ui/notifications/tool-result",
		]);
	});

	test("one whose links and forms lead nowhere stays", async ({ page, usher }) => {
		await enter(page, usher);
		const card = await openApp(page, "apps", "Linking");
		const app = await appFrame(card);
		await expect.poll(() => height(card)).toBe(160);
		for (const name of ["Part", "Site", "Late"]) await app.getByRole("link", { name }).click();
		for (const name of ["Send", "Send to itself"]) await app.getByRole("button", { name, exact: true }).click();
		expect(await app.evaluate("location.hash")).toBe("#there");
		expect(await app.title()).toBe("first"); // the app's own listeners come first
		expect(await app.evaluate("document.compatMode")).toBe("CSS1Compat");
		await app.getByRole("link", { name: "Own" }).click();
		await expect.poll(() => app.evaluate("heard.length")).toBe(3);
		expect(await phase(card)).toBe("shown");
	});

	for (const title of ["Leaving", "Escaping"]) {
		test(`${title}: one that leaves its page is gone`, async ({ page, usher }) => {
			await enter(page, usher);
			const card = await openApp(page, "apps", title);
			await expect(card.getByText("The app is not shown: it left its own page")).toBeVisible();
			await expect(page.locator("iframe")).toHaveCount(0);
		});
	}

	test("one that goes is asked to tear down, and stays alive until it answered", async ({ shell }) => {
		const card = await openApp(shell, "apps", "Polite");
		await expect.poll(() => height(card)).toBe(150);
		await shell.evaluate(() => {
			const seen = { settledIn: -1, gone: false };
			Object.assign(window, { seen });
			const began = performance.now();
			addEventListener("message", (event) => {
				if (event.data?.result && seen.settledIn < 0) seen.settledIn = performance.now() - began;
			});
		});
		await shell.getByRole("link", { name: "New session" }).click();
		await expect(shell.locator("#parked-apps iframe")).toHaveCount(1);
		await expect(shell.locator("iframe")).toHaveCount(0);
		expect(
			await shell.evaluate(() => (window as unknown as { seen: { settledIn: number } }).seen.settledIn),
		).toBeGreaterThan(250);
	});

	test("one that never answers the teardown goes all the same", async ({ shell }) => {
		const card = await openApp(shell, "apps", "Stubborn");
		await expect.poll(() => height(card)).toBe(150);
		await shell.getByRole("link", { name: "New session" }).click();
		await expect(shell.locator("#parked-apps iframe")).toHaveCount(1);
		await expect(shell.locator("iframe")).toHaveCount(0);
	});

	test("one that grows for ever is stopped, and sizes stay within bounds", async ({ shell }) => {
		const grower = await openApp(shell, "apps", "Grower");
		await expect.poll(() => height(grower)).toBeGreaterThan(260);
		const app = await appFrame(grower);
		await expect.poll(() => app.evaluate("height")).toBeGreaterThan(2000);
		expect(await height(grower)).toBeLessThan(800);
		const jumper = await openApp(shell, "apps", "Jumper");
		await expect.poll(() => height(jumper)).toBe(800);
	});
});

test("the tour shows its dashboard, which answers to the pointer and the keyboard", async ({ page }) => {
	const usher = new Usher();
	try {
		await usher.start();
		await enter(page, usher);
		const card = await openApp(page, "tour", "Show the revenue dashboard");
		const app = await appFrame(card);
		await expect(app.getByRole("heading", { name: "Revenue by region" })).toBeVisible();
		await expect(app.getByText("€30.49 M")).toBeVisible();
		if (process.env.USHER_SCREENSHOTS) {
			await page.getByRole("button", { name: "Put away" }).click();
			await page.screenshot({ path: fileURLToPath(new URL("../../docs/screenshots/dashboard.png", import.meta.url)) });
		}
		await app.getByRole("button", { name: "Europe", exact: true }).click();
		await expect(app.getByText("€20.50 M")).toBeVisible();
		await app.getByRole("button", { name: "Q4", exact: true }).click();
		await expect(app.getByTitle("€5.91 M")).toBeVisible();
		await app.getByRole("button", { name: "Lines" }).press("Enter");
		await expect(app.getByRole("button", { name: "Lines" })).toHaveAttribute("aria-pressed", "true");
		await expect(app.getByRole("button", { name: "Lines" })).toBeFocused();
		await app.getByRole("button", { name: /^Q2: / }).hover();
		await expect(app.locator("#tip")).toContainText("Q2 2025");
	} finally {
		await usher.close();
	}
});

/** The samples that need no network, with what each shows when it runs. */
const samples: { server: string; tool: string; shows: RegExp | string; args?: object }[] = [
	{ server: "budget-allocator", tool: "Get Budget Data", shows: /Allocated: \$100,000/ },
	{ server: "scenario-modeler", tool: "Get Scenario Data", shows: /Scenario/ },
	{ server: "basic-vanillajs", tool: "Get Time", shows: /\d{4}/ },
	{ server: "basic-react", tool: "Get Time", shows: /\d{4}/ },
	{ server: "basic-preact", tool: "Get Time", shows: /\d{4}/ },
	{ server: "basic-vue", tool: "Get Time", shows: /\d{4}/ },
	{ server: "basic-svelte", tool: "Get Time", shows: /\d{4}/ },
	{ server: "basic-solid", tool: "Get Time", shows: /\d{4}/ },
	{ server: "transcript", tool: "Transcribe Speech", shows: /Start|transcript/i },
	{
		server: "sheet-music",
		tool: "Play Sheet Music",
		shows: /Scale/,
		args: { abcNotation: "X:1\nT:Scale\nM:4/4\nL:1/4\nK:C\nCDEF|GABc|" },
	},
	{
		server: "shadertoy",
		tool: "ShaderToy Renderer",
		shows: "",
		args: { fragmentShader: "void mainImage(out vec4 c, in vec2 p) { c = vec4(p / iResolution.xy, 0.5, 1.0); }" },
	},
];

for (const { server, tool, shows, args } of samples) {
	test.describe(server, () => {
		test.use({ servers: { [server]: sample(server) } });
		test(`${server} is drawn, and again after a reload`, async ({ usher, page }) => {
			await enter(page, usher);
			const card = await openApp(page, server, tool, args);
			for (const round of ["first", "reloaded"]) {
				await expect.poll(() => phase(card), { message: round, timeout: 15_000 }).toBe("shown");
				const app = await appFrame(card);
				await expect(app.locator("body")).toContainText(shows);
				if (server === "shadertoy") await expect(app.locator("canvas").first()).toBeVisible();
				if (round === "first") await page.reload();
			}
		});
	});
}

/** A document of one empty page, so that the PDF sample fetches nothing. */
const document = fileURLToPath(new URL("fixtures/page.pdf", import.meta.url));

/** The samples that cannot be shown here, with the reason the person is given. */
const refused: { server: string; tool: string; reason: string; files?: string[]; args?: object }[] = [
	{ server: "map", tool: "Show Map", reason: "it did not start within 10 seconds" },
	{
		server: "threejs",
		tool: "Show Three.js Scene",
		reason: "the app's HTML is 1,174,015 bytes; the limit is 1,048,576",
	},
	{
		server: "pdf",
		tool: "Display PDF",
		reason: "the app's HTML is 4,336,789 bytes; the limit is 1,048,576",
		files: [document],
		args: { url: document },
	},
];

for (const { server, tool, reason, files, args } of refused) {
	test.describe(server, () => {
		test.use({ servers: { [server]: sample(server, files) } });
		test(`${server} keeps its text, with the reason`, async ({ usher, page }) => {
			await enter(page, usher);
			await openApp(page, server, tool, args);
			await expect(page.getByText(/The app is not shown/)).toContainText(reason);
			await expect(page.locator("iframe")).toHaveCount(0);
		});
	});
}
