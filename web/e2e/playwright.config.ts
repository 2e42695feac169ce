import { defineConfig } from "@playwright/test";

export default defineConfig({
	testDir: ".",
	testIgnore: "firefox/**",
	outputDir: "../test-results",
	globalSetup: "./setup.ts",
	timeout: 120_000,
	expect: { timeout: 20_000 },
	fullyParallel: false,
	workers: 1,
	forbidOnly: Boolean(process.env.CI),
	retries: 0,
	reporter: [["list"]],
	use: {
		browserName: "chromium",
		viewport: { width: 1280, height: 800 },
		trace: "retain-on-failure",
		launchOptions: {
			executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
			args: [
				"--no-sandbox",
				"--disable-gpu",
				"--disable-quic",
				"--no-first-run",
				"--disable-background-networking",
				"--disable-component-update",
				"--disable-sync",
			],
		},
	},
});
