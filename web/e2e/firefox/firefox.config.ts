import { defineConfig } from "@playwright/test";

// Playwright's runner with another driver: Playwright itself speaks only to a Firefox of its own making.
export default defineConfig({
	testDir: ".",
	outputDir: "../../test-results",
	globalSetup: "../setup.ts",
	timeout: 180_000,
	expect: { timeout: 30_000 },
	workers: 1,
	forbidOnly: Boolean(process.env.CI),
	reporter: [["list"]],
});
